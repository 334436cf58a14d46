// Allocations, copies and fills.
#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "driver/driver.hpp"

namespace stand_in {
namespace {

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

CUresult copy_on_device(const CUDA_MEMCPY2D& copy, CUstream stream) {
    const CUdeviceptr from = copy.srcDevice, to = copy.dstDevice;
    const std::size_t width = copy.WidthInBytes;
    if (copy.Height != 1) return CUDA_ERROR_NOT_SUPPORTED;
    if (driver().memory.view(from, width) == nullptr || driver().memory.view(to, width) == nullptr)
        return CUDA_ERROR_INVALID_VALUE;
    return driver().scheduler.launch_uncaptured(stream, [=] {
        std::byte* const target = driver().memory.view(to, width);
        const std::byte* const source = driver().memory.view(from, width);
        if (target == nullptr || source == nullptr) return CUDA_ERROR_ILLEGAL_ADDRESS;
        std::memcpy(target, source, width);
        return CUDA_SUCCESS;
    });
}

CUresult copy_rows(const CUDA_MEMCPY2D* copy, CUstream stream) {
    if (copy != nullptr && copy->srcMemoryType != CU_MEMORYTYPE_HOST && copy->dstMemoryType != CU_MEMORYTYPE_HOST)
        return copy_on_device(*copy, stream);
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
}  // namespace stand_in

using stand_in::driver;

extern "C" {

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
    // A launch of nothing. If the stream captures, it fails, since graphs of the stand-in have no memory of their
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
}
