// Stand-in of libcuda.so.1: the functions with which a program of the driver API allocates, copies, launches and
// captures.
//
// The environment sets the devices: STAND_IN_DEVICES (default 1) and STAND_IN_COMPUTE_CAPABILITY, "9.0" or a list.
// STAND_IN_DRIVER_DELAY_US: duration of cuCtxGetDevice, so that threads meet there.
// STAND_IN_MEMORY: bytes of memory of each device.
// STAND_IN_STREAMS=busy: cuStreamQuery never finds a stream idle; busy:N: not after N calls.

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdio>

#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "driver/current.hpp"
#include "driver/device_memory.hpp"
#include "driver/driver_private.hpp"

namespace stand_in {
namespace {

struct Device {
    int major = 9;
    int minor = 0;
    CUctx_st primary;
};

class Driver {
  public:
    Driver() {
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

    Device* device(CUdevice ordinal) {
        return ordinal >= 0 && ordinal < static_cast<int>(devices.size()) ? devices[ordinal].get() : nullptr;
    }

    std::atomic<bool> initialized = false;
    std::mutex retain_mutex;
    std::vector<std::unique_ptr<Device>> devices;
    DeviceMemory memory;
    Scheduler scheduler;
};

// Never destroyed, since programs call the driver from their own destructors.
Driver& driver() {
    static Driver* const instance = new Driver;
    return *instance;
}

std::vector<CUcontext>& context_stack() {
    thread_local std::vector<CUcontext> stack;
    return stack;
}

// Tells how the running thread takes part in captures of streams.
CUstreamCaptureMode& thread_capture_mode() {
    thread_local CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
    return mode;
}

CUresult allow_unsafe_call(CUcontext context) {
    return thread_capture_mode() == CU_STREAM_CAPTURE_MODE_RELAXED ? driver().scheduler.fault(context)
                                                                   : driver().scheduler.allow_unsafe_call(context);
}

CUcontext current() { return context_stack().empty() ? nullptr : context_stack().back(); }

// Returns the number of calls of cuStreamQuery that get a true answer; -1: all.
long queries_until_streams_are_busy() {
    const char* const streams = std::getenv("STAND_IN_STREAMS");
    if (streams == nullptr || std::strncmp(streams, "busy", 4) != 0) return -1;
    return streams[4] == ':' ? std::atol(streams + 5) : 0;
}

// Fills `count` elements on the default stream. Does not wait, like the driver's function for device memory.
template <class T>
CUresult fill(CUdeviceptr address, T value, std::size_t count) {
    CUcontext context = nullptr;
    const CUresult result = require_context(&context);
    if (result != CUDA_SUCCESS) return result;
    if (driver().memory.view(address, count * sizeof(T)) == nullptr || address % sizeof(T) != 0)
        return CUDA_ERROR_INVALID_VALUE;
    return driver().scheduler.launch(&context->legacy_stream, [address, value, count] {
        std::byte* bytes = driver().memory.view(address, count * sizeof(T));
        if (bytes == nullptr) return CUDA_ERROR_ILLEGAL_ADDRESS;
        std::fill_n(reinterpret_cast<T*>(bytes), count, value);
        return CUDA_SUCCESS;
    });
}

CUresult copy_rows(const CUDA_MEMCPY2D* copy, CUstream stream) {
    const bool to_host = copy != nullptr && copy->dstMemoryType == CU_MEMORYTYPE_HOST;
    if (copy == nullptr || (copy->srcMemoryType == CU_MEMORYTYPE_HOST) == to_host) return CUDA_ERROR_INVALID_VALUE;
    const std::size_t width = copy->WidthInBytes;
    const std::size_t rows = copy->Height;
    if (width == 0 || rows == 0) return CUDA_SUCCESS;
    if (copy->srcXInBytes != 0 || copy->srcY != 0 || copy->dstXInBytes != 0 || copy->dstY != 0)
        return CUDA_ERROR_NOT_SUPPORTED;
    const CUdeviceptr address = to_host ? copy->srcDevice : copy->dstDevice;
    const std::size_t pitch = to_host ? copy->srcPitch : copy->dstPitch;
    const std::size_t host_pitch = to_host ? copy->dstPitch : copy->srcPitch;
    if (pitch < width || host_pitch < width) return CUDA_ERROR_INVALID_VALUE;
    const std::size_t extent = (rows - 1) * pitch + width;
    if (driver().memory.view(address, extent) == nullptr) return CUDA_ERROR_INVALID_VALUE;
    std::vector<std::byte> staged;
    if (!to_host)
        for (std::size_t row = 0; row < rows; ++row) {
            const auto* const from = static_cast<const std::byte*>(copy->srcHost) + row * host_pitch;
            staged.insert(staged.end(), from, from + width);
        }
    auto* const host = static_cast<std::byte*>(copy->dstHost);
    return driver().scheduler.launch_uncaptured(stream, [=, staged = std::move(staged)] {
        std::byte* const device = driver().memory.view(address, extent);
        if (device == nullptr) return CUDA_ERROR_ILLEGAL_ADDRESS;
        for (std::size_t row = 0; row < rows; ++row) {
            if (to_host)
                std::memcpy(host + row * host_pitch, device + row * pitch, width);
            else
                std::memcpy(device + row * pitch, staged.data() + row * width, width);
        }
        return CUDA_SUCCESS;
    });
}

}  // namespace

Scheduler& scheduler() { return driver().scheduler; }

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

namespace {

// Never returns if STAND_IN_HANGS names this function; with STAND_IN_HANGS_FROM, only once that file exists.
void hang_if_told(const char* function) {
    const char* const hanging = std::getenv("STAND_IN_HANGS");
    if (hanging == nullptr || std::string_view(hanging) != function) return;
    const char* const file = std::getenv("STAND_IN_HANGS_FROM");
    if (file != nullptr && access(file, F_OK) != 0) return;
    for (;;) pause();
}

bool replays_nothing() {
    const char* const graphs = std::getenv("STAND_IN_GRAPHS");
    return graphs != nullptr && std::string_view(graphs) == "empty";
}

CUresult launch_graph(CUgraphExec exec, CUstream stream) {
    hang_if_told("cuGraphLaunch");
    const CUresult result = stand_in::require_stream(&stream);
    if (result == CUDA_SUCCESS && replays_nothing()) return CUDA_SUCCESS;
    return result != CUDA_SUCCESS ? result : driver().scheduler.launch_graph(exec, stream);
}

}  // namespace

extern "C" {

CUresult CUDAAPI cuInit(unsigned int flags) {
    hang_if_told("cuInit");
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
    ++device->primary.retained;
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

// ---- memory

CUresult CUDAAPI cuMemAlloc_v2(CUdeviceptr* address, std::size_t bytes) {
    CUcontext context = nullptr;
    CUresult result = stand_in::require_context(&context);
    if (result != CUDA_SUCCESS) return result;
    if (address == nullptr || bytes == 0) return CUDA_ERROR_INVALID_VALUE;
    result = stand_in::allow_unsafe_call(context);
    if (result != CUDA_SUCCESS) return result;
    *address = driver().memory.allocate(context->device, bytes);
    return *address == 0 ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS;
}

CUresult CUDAAPI cuMemFree_v2(CUdeviceptr address) {
    CUcontext context = nullptr;
    CUresult result = stand_in::require_context(&context);
    if (result != CUDA_SUCCESS) return result;
    if (address == 0) return CUDA_SUCCESS;
    result = stand_in::allow_unsafe_call(context);
    if (result == CUDA_SUCCESS) result = driver().scheduler.synchronize_context(context);
    if (result != CUDA_SUCCESS) return result;
    return driver().memory.release(address) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult CUDAAPI cuMemGetInfo_v2(std::size_t* free_bytes, std::size_t* total_bytes) {
    CUcontext context = nullptr;
    const CUresult result = stand_in::require_context(&context);
    if (result != CUDA_SUCCESS) return result;
    if (free_bytes == nullptr || total_bytes == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *total_bytes = driver().memory.total_bytes();
    *free_bytes = *total_bytes - driver().memory.used(context->device);
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuPointerGetAttribute(void* value, CUpointer_attribute attribute, CUdeviceptr address) {
    if (!driver().initialized) return CUDA_ERROR_NOT_INITIALIZED;
    if (value == nullptr || driver().memory.view(address, 1) == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (attribute != CU_POINTER_ATTRIBUTE_DEVICE_POINTER) return CUDA_ERROR_NOT_SUPPORTED;
    std::memcpy(value, &address, sizeof address);
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuMemcpyHtoD_v2(CUdeviceptr destination, const void* source, std::size_t bytes) {
    CUcontext context = nullptr;
    CUresult result = stand_in::require_context(&context);
    if (result != CUDA_SUCCESS || bytes == 0) return result;
    if (source == nullptr || driver().memory.view(destination, bytes) == nullptr) return CUDA_ERROR_INVALID_VALUE;
    result = driver().scheduler.synchronize_legacy(context);
    if (result == CUDA_SUCCESS) std::memcpy(driver().memory.view(destination, bytes), source, bytes);
    return result;
}

CUresult CUDAAPI cuMemcpyDtoH_v2(void* destination, CUdeviceptr source, std::size_t bytes) {
    CUcontext context = nullptr;
    CUresult result = stand_in::require_context(&context);
    if (result != CUDA_SUCCESS || bytes == 0) return result;
    if (destination == nullptr || driver().memory.view(source, bytes) == nullptr) return CUDA_ERROR_INVALID_VALUE;
    result = driver().scheduler.synchronize_legacy(context);
    if (result == CUDA_SUCCESS) std::memcpy(destination, driver().memory.view(source, bytes), bytes);
    return result;
}

CUresult CUDAAPI cuMemAllocAsync(CUdeviceptr* address, std::size_t bytes, CUstream stream) {
    const CUresult result = stand_in::require_stream(&stream);
    if (result != CUDA_SUCCESS) return result;
    if (address == nullptr || bytes == 0) return CUDA_ERROR_INVALID_VALUE;
    // An empty launch. It is refused if the stream captures, since graphs of the stand-in have no memory of their
    // own.
    const CUresult queued = driver().scheduler.launch_uncaptured(stream, [] { return CUDA_SUCCESS; });
    if (queued != CUDA_SUCCESS) return queued;
    *address = driver().memory.allocate(stream->context->device, bytes);
    return *address == 0 ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS;
}

CUresult CUDAAPI cuMemFreeAsync(CUdeviceptr address, CUstream stream) {
    const CUresult result = stand_in::require_stream(&stream);
    if (result != CUDA_SUCCESS) return result;
    return driver().scheduler.launch_uncaptured(
        stream, [address] { return driver().memory.release(address) ? CUDA_SUCCESS : CUDA_ERROR_ILLEGAL_ADDRESS; });
}

// Copies between the host and one allocation. Host memory is read at once, like pageable memory, but written only
// when the copy runs.
CUresult CUDAAPI cuMemcpy2DAsync_v2(const CUDA_MEMCPY2D* copy, CUstream stream) {
    const CUresult result = stand_in::require_stream(&stream);
    return result != CUDA_SUCCESS ? result : stand_in::copy_rows(copy, stream);
}

CUresult CUDAAPI cuMemsetD8_v2(CUdeviceptr address, unsigned char value, std::size_t count) {
    return stand_in::fill(address, value, count);
}

CUresult CUDAAPI cuMemsetD32_v2(CUdeviceptr address, unsigned int value, std::size_t count) {
    return stand_in::fill(address, value, count);
}

// ---- streams and events

CUresult CUDAAPI cuStreamCreate(CUstream* stream, unsigned int flags) {
    CUcontext context = nullptr;
    const CUresult result = stand_in::require_context(&context);
    return result != CUDA_SUCCESS ? result : driver().scheduler.create_stream(context, flags, stream);
}

CUresult CUDAAPI cuStreamDestroy_v2(CUstream stream) {
    if (!driver().initialized) return CUDA_ERROR_NOT_INITIALIZED;
    return driver().scheduler.destroy_stream(stream);
}

CUresult CUDAAPI cuStreamSynchronize(CUstream stream) {
    const CUresult result = stand_in::require_stream(&stream);
    return result != CUDA_SUCCESS ? result : driver().scheduler.synchronize(stream);
}

CUresult CUDAAPI cuStreamQuery(CUstream stream) {
    static std::atomic<long> asked{0};
    static const long limit = stand_in::queries_until_streams_are_busy();
    if (limit >= 0 && asked.fetch_add(1) >= limit) return CUDA_ERROR_NOT_READY;
    const CUresult result = stand_in::require_stream(&stream);
    return result != CUDA_SUCCESS ? result : driver().scheduler.query(stream);
}

CUresult CUDAAPI cuStreamWaitEvent(CUstream stream, CUevent event, unsigned int) {
    const CUresult result = stand_in::require_stream(&stream);
    return result != CUDA_SUCCESS ? result : driver().scheduler.wait(stream, event);
}

CUresult CUDAAPI cuEventCreate(CUevent* event, unsigned int flags) {
    CUcontext context = nullptr;
    const CUresult result = stand_in::require_context(&context);
    return result != CUDA_SUCCESS ? result : driver().scheduler.create_event(context, flags, event);
}

CUresult CUDAAPI cuEventDestroy_v2(CUevent event) { return driver().scheduler.destroy_event(event); }

CUresult CUDAAPI cuEventRecord(CUevent event, CUstream stream) {
    const CUresult result = stand_in::require_stream(&stream);
    return result != CUDA_SUCCESS ? result : driver().scheduler.record(event, stream);
}

CUresult CUDAAPI cuEventSynchronize(CUevent event) { return driver().scheduler.synchronize(event); }

CUresult CUDAAPI cuEventElapsedTime_v2(float* milliseconds, CUevent start, CUevent end) {
    return driver().scheduler.elapsed(start, end, milliseconds);
}

// cuda.h renames the old function to the new one. The two differ in their answers about events that have not
// occurred.
#undef cuEventElapsedTime
#pragma GCC visibility push(default)
CUresult CUDAAPI cuEventElapsedTime(float* milliseconds, CUevent start, CUevent end) {
    return driver().scheduler.elapsed(start, end, milliseconds);
}
#pragma GCC visibility pop

// ---- capture and graphs

CUresult CUDAAPI cuStreamBeginCapture_v2(CUstream stream, CUstreamCaptureMode mode) {
    const CUresult result = stand_in::require_stream(&stream);
    return result != CUDA_SUCCESS ? result : driver().scheduler.begin_capture(stream, mode);
}

CUresult CUDAAPI cuStreamEndCapture(CUstream stream, CUgraph* graph) {
    const CUresult result = stand_in::require_stream(&stream);
    return result != CUDA_SUCCESS ? result : driver().scheduler.end_capture(stream, graph);
}

CUresult CUDAAPI cuStreamIsCapturing(CUstream stream, CUstreamCaptureStatus* status) {
    const CUresult result = stand_in::require_stream(&stream);
    return result != CUDA_SUCCESS ? result : driver().scheduler.capture_status(stream, status);
}

CUresult CUDAAPI cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode* mode) {
    if (mode == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *mode = std::exchange(stand_in::thread_capture_mode(), *mode);
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuGraphInstantiateWithFlags(CUgraphExec* exec, CUgraph graph, unsigned long long) {
    return driver().scheduler.instantiate(graph, exec);
}

CUresult CUDAAPI cuGraphLaunch(CUgraphExec exec, CUstream stream) { return launch_graph(exec, stream); }

// The form for programs whose default stream is the thread's own. In the stand-in it is the legacy one.
#pragma GCC visibility push(default)
CUresult CUDAAPI cuGraphLaunch_ptsz(CUgraphExec exec, CUstream stream) { return launch_graph(exec, stream); }
#pragma GCC visibility pop

CUresult CUDAAPI cuGraphExecDestroy(CUgraphExec exec) { return driver().scheduler.destroy(exec); }

CUresult CUDAAPI cuGraphDestroy(CUgraph graph) { return driver().scheduler.destroy(graph); }

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

int stand_in_compute_capability(int ordinal) {
    const auto* device = driver().device(ordinal);
    return device == nullptr ? 0 : 10 * device->major + device->minor;
}
}
