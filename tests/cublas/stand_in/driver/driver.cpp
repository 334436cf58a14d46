// Stand-in of libcuda.so.1: its state, devices and contexts. memory.cpp has the functions with which a program
// allocates and copies, streams.cpp those with which it orders, captures and replays work.
//
// The environment sets the devices: STAND_IN_DEVICES (default 1) and STAND_IN_COMPUTE_CAPABILITY, "9.0" or a list.
// STAND_IN_DRIVER_DELAY_US: duration of cuCtxGetDevice, so that threads meet there.
// STAND_IN_MEMORY: bytes of memory of each device.
// STAND_IN_STREAMS=busy: cuStreamQuery never finds a stream idle; busy:N: no longer after N calls.

#include "driver/driver.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <thread>
#include <utility>

#include "driver/driver_private.hpp"

namespace stand_in {

Driver::Driver() {
    const char* count = std::getenv("STAND_IN_DEVICES");
    const int devices_asked = count == nullptr ? 1 : std::max(0, std::atoi(count));
    const char* text = std::getenv("STAND_IN_COMPUTE_CAPABILITY");
    int major = 9, minor = 0;
    for (int i = 0; i < devices_asked; ++i) {
        // The last value of a list also holds for all further devices.
        int length = 0;
        if (text != nullptr && std::sscanf(text, "%d.%d%n", &major, &minor, &length) == 2)
            text += text[length] == ',' ? length + 1 : length;
        auto device = std::make_unique<Device>();
        device->major = major;
        device->minor = minor;
        device->primary.device = i;
        scheduler.adopt(&device->primary);
        devices.push_back(std::move(device));
    }
}

Driver& driver() {
    static Driver* const instance = new Driver;
    return *instance;
}

std::vector<CUcontext>& context_stack() {
    // Never destroyed: handlers of exit() run after the destructors of thread-local objects.
    thread_local auto* const stack = new std::vector<CUcontext>;
    return *stack;
}

CUstreamCaptureMode& thread_capture_mode() {
    thread_local CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
    return mode;
}

CUresult allow_unsafe_call(CUcontext context) {
    return thread_capture_mode() == CU_STREAM_CAPTURE_MODE_RELAXED ? driver().scheduler.fault(context)
                                                                   : driver().scheduler.allow_unsafe_call(context);
}

CUcontext current() { return context_stack().empty() ? nullptr : context_stack().back(); }

void hang_if_told(const char* function) {
    const char* const hanging = std::getenv("STAND_IN_HANGS");
    if (hanging == nullptr || std::string_view(hanging) != function) return;
    const char* const file = std::getenv("STAND_IN_HANGS_FROM");
    if (file != nullptr && access(file, F_OK) != 0) return;
    for (;;) pause();
}

CUresult require_driver() { return driver().initialized ? CUDA_SUCCESS : CUDA_ERROR_NOT_INITIALIZED; }

CUresult require_context(CUcontext* context) {
    if (!driver().initialized) return CUDA_ERROR_NOT_INITIALIZED;
    *context = current();
    if (*context == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
    return driver().scheduler.fault(*context);
}

CUresult require_stream(CUstream* stream) {
    if (*stream != nullptr && *stream != CU_STREAM_LEGACY && *stream != CU_STREAM_PER_THREAD) return CUDA_SUCCESS;
    CUcontext context = nullptr;
    const CUresult result = require_context(&context);
    if (result == CUDA_SUCCESS) *stream = &context->legacy_stream;
    return result;
}

}  // namespace stand_in

using stand_in::current;
using stand_in::driver;

extern "C" {

CUresult CUDAAPI cuInit(unsigned int flags) {
    stand_in::hang_if_told("cuInit");
    if (flags != 0) return CUDA_ERROR_INVALID_VALUE;
    if (driver().devices.empty()) return CUDA_ERROR_NO_DEVICE;
    driver().initialized = true;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuDriverGetVersion(int* version) {
    if (version == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const char* const older = std::getenv("STAND_IN_DRIVER");
    *version = older == nullptr ? CUDA_VERSION : std::atoi(older);
    return CUDA_SUCCESS;
}

// ---- devices

CUresult CUDAAPI cuDeviceGet(CUdevice* device, int ordinal) {
    if (!driver().initialized) return CUDA_ERROR_NOT_INITIALIZED;
    if (device == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (driver().device(ordinal) == nullptr) return CUDA_ERROR_INVALID_DEVICE;
    *device = ordinal;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuDeviceGetCount(int* count) {
    if (!driver().initialized) return CUDA_ERROR_NOT_INITIALIZED;
    if (count == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *count = static_cast<int>(driver().devices.size());
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuDeviceGetName(char* name, int length, CUdevice device) {
    if (!driver().initialized) return CUDA_ERROR_NOT_INITIALIZED;
    if (name == nullptr || length <= 0) return CUDA_ERROR_INVALID_VALUE;
    if (driver().device(device) == nullptr) return CUDA_ERROR_INVALID_DEVICE;
    std::snprintf(name, static_cast<std::size_t>(length), "fp32shim stand-in (no GPU)");
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuDeviceGetAttribute(int* value, CUdevice_attribute attribute, CUdevice ordinal) {
    if (!driver().initialized) return CUDA_ERROR_NOT_INITIALIZED;
    const auto* device = driver().device(ordinal);
    if (device == nullptr) return CUDA_ERROR_INVALID_DEVICE;
    if (value == nullptr) return CUDA_ERROR_INVALID_VALUE;
    switch (attribute) {
        case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
            *value = device->major;
            break;
        case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR:
            *value = device->minor;
            break;
        case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT:
            *value = 1;
            break;
        case CU_DEVICE_ATTRIBUTE_WARP_SIZE:
            *value = 32;
            break;
        case CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING:
            *value = 1;
            break;
        // Sizes of an H100, which compilers of kernels ask for.
        case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK:
            *value = 48 << 10;
            break;
        case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN:
            *value = 227 << 10;
            break;
        case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR:
            *value = 228 << 10;
            break;
        case CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK:
            *value = 64 << 10;
            break;
        case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
            *value = 1024;
            break;
        case CU_DEVICE_ATTRIBUTE_CLOCK_RATE:  // kHz
        case CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE:
            *value = 1'000'000;
            break;
        case CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH:  // bits
            *value = 64;
            break;
        case CU_DEVICE_ATTRIBUTE_INTEGRATED:
        case CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY:
        case CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS:
            *value = 0;
            break;
        default:
            return CUDA_ERROR_INVALID_VALUE;
    }
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuDeviceTotalMem_v2(std::size_t* bytes, CUdevice device) {
    if (!driver().initialized) return CUDA_ERROR_NOT_INITIALIZED;
    if (driver().device(device) == nullptr) return CUDA_ERROR_INVALID_DEVICE;
    if (bytes == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *bytes = driver().memory.total_bytes();
    return CUDA_SUCCESS;
}

// ---- contexts

CUresult CUDAAPI cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice ordinal) {
    if (!driver().initialized) return CUDA_ERROR_NOT_INITIALIZED;
    auto* device = driver().device(ordinal);
    if (device == nullptr) return CUDA_ERROR_INVALID_DEVICE;
    if (context == nullptr) return CUDA_ERROR_INVALID_VALUE;
    std::lock_guard lock(driver().retain_mutex);
    static std::uint64_t last_id = 0;
    if (device->primary.retained++ == 0) device->primary.id = ++last_id;
    *context = &device->primary;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuDevicePrimaryCtxRelease_v2(CUdevice ordinal) {
    if (!driver().initialized) return CUDA_ERROR_NOT_INITIALIZED;
    auto* device = driver().device(ordinal);
    if (device == nullptr) return CUDA_ERROR_INVALID_DEVICE;
    std::lock_guard lock(driver().retain_mutex);
    if (device->primary.retained == 0) return CUDA_ERROR_INVALID_CONTEXT;
    if (--device->primary.retained > 0) return CUDA_SUCCESS;
    driver().scheduler.reset(&device->primary);
    driver().memory.release_all(ordinal);
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuCtxSetCurrent(CUcontext context) {
    if (!driver().initialized) return CUDA_ERROR_NOT_INITIALIZED;
    auto& stack = stand_in::context_stack();
    if (!stack.empty()) stack.pop_back();
    if (context != nullptr) stack.push_back(context);
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuCtxGetCurrent(CUcontext* context) {
    if (!driver().initialized) return CUDA_ERROR_NOT_INITIALIZED;
    if (context == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *context = current();
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuCtxGetId(CUcontext context, unsigned long long* id) {
    if (!driver().initialized) return CUDA_ERROR_NOT_INITIALIZED;
    if (id == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (context == nullptr) context = current();
    if (context == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
    if (context->retained == 0) return CUDA_ERROR_CONTEXT_IS_DESTROYED;
    *id = context->id;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuCtxPushCurrent_v2(CUcontext context) {
    if (!driver().initialized) return CUDA_ERROR_NOT_INITIALIZED;
    if (context == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
    stand_in::context_stack().push_back(context);
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuCtxPopCurrent_v2(CUcontext* context) {
    if (!driver().initialized) return CUDA_ERROR_NOT_INITIALIZED;
    if (current() == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
    if (context != nullptr) *context = current();
    stand_in::context_stack().pop_back();
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuCtxGetDevice(CUdevice* device) {
    errno = ENOENT;  // a real driver may change it
    static const char* const delay_us = std::getenv("STAND_IN_DRIVER_DELAY_US");
    if (delay_us != nullptr) std::this_thread::sleep_for(std::chrono::microseconds(std::atoi(delay_us)));
    if (!driver().initialized) return CUDA_ERROR_NOT_INITIALIZED;
    if (current() == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
    if (device == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *device = current()->device;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuCtxSynchronize(void) {
    CUcontext context = nullptr;
    const CUresult result = stand_in::require_context(&context);
    return result != CUDA_SUCCESS ? result : driver().scheduler.synchronize_context(context);
}

// Limits are for code on the device, which the stand-in does not run.
CUresult CUDAAPI cuCtxGetLimit(std::size_t* value, CUlimit limit) {
    if (value == nullptr || limit >= CU_LIMIT_MAX) return CUDA_ERROR_INVALID_VALUE;
    *value = 1 << 20;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuCtxSetLimit(CUlimit limit, std::size_t) {
    return limit < CU_LIMIT_MAX ? CUDA_SUCCESS : CUDA_ERROR_UNSUPPORTED_LIMIT;
}

// ---- for the stand-ins of cuBLAS and cublasLt

CUresult stand_in_launch(int device, CUstream stream, const stand_in::Kernel& kernel) {
    if (stream == nullptr || stream == CU_STREAM_LEGACY || stream == CU_STREAM_PER_THREAD)
        stream = &driver().devices[static_cast<std::size_t>(device)]->primary.legacy_stream;
    return driver().scheduler.launch(stream, kernel);
}

CUresult stand_in_run(int device, const stand_in::Kernel& kernel) {
    const CUresult result = stand_in_launch(device, nullptr, kernel);
    if (result != CUDA_SUCCESS) return result;
    return driver().scheduler.synchronize(&driver().devices[static_cast<std::size_t>(device)]->primary.legacy_stream);
}

std::byte* stand_in_view(const void* address, std::size_t bytes) {
    return driver().memory.view(reinterpret_cast<std::uintptr_t>(address), bytes);
}

void stand_in_take_time(std::uint64_t nanoseconds) { stand_in::Scheduler::take_time(nanoseconds); }

int stand_in_compute_capability(int ordinal) {
    const auto* device = driver().device(ordinal);
    return device == nullptr ? 0 : 10 * device->major + device->minor;
}
}
