// Finds the CUDA driver that the program has loaded, and the driver's functions that the shim calls.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "shim/cublas/api.hpp"
#include "shim/loader/foreign_function.hpp"
#include "shim/loader/loaded_object.hpp"

namespace fp32shim::cublas {

struct alignas(8) Device {                // the struct fits in one word, so that threads read it atomically
    std::int32_t index = -1;              ///< the ordinal of the device in CUDA; -1: unknown
    std::int32_t compute_capability = 0;  ///< 10·major + minor of the compute capability; 0: unknown

    bool operator==(const Device&) const = default;
};

/// Returns the device of this thread's current context.
Device current_device();

/// Returns the compute capabilities of all devices that the process can use, each once, and then 0.
std::array<std::int32_t, 9> compute_capabilities();

/// The functions of the driver that audits (second computations of a product, for comparison) and GPU timers call. A
/// member is nullptr if the driver lacks the function.
struct CudaDriver {
    const LoadedObject* object = nullptr;  ///< the driver; nullptr if there is no driver, and then all functions are
                                           ///< nullptr

    explicit CudaDriver(const LoadedObject* driver = nullptr) : object(driver) {}
    void* symbol(const char* name) const;

    ForeignFunction<std::int32_t(Stream, std::int32_t* status)> stream_is_capturing{symbol("cuStreamIsCapturing")};
    ForeignFunction<std::int32_t(std::int32_t* mode)> exchange_capture_mode{
        symbol("cuThreadExchangeStreamCaptureMode")};
    ForeignFunction<std::int32_t(Stream)> query_stream{symbol("cuStreamQuery")};
    ForeignFunction<std::int32_t(std::size_t* free, std::size_t* total)> memory_info{symbol("cuMemGetInfo_v2")};
    ForeignFunction<std::int32_t(std::uint64_t* address, std::size_t size, Stream)> allocate{
        symbol("cuMemAllocAsync")};
    ForeignFunction<std::int32_t(std::uint64_t address, Stream)> release{symbol("cuMemFreeAsync")};
    ForeignFunction<std::int32_t(const Copy2D*, Stream)> copy{symbol("cuMemcpy2DAsync_v2")};
    ForeignFunction<std::int32_t(void* context, std::uint64_t* id)> context_id{symbol("cuCtxGetId")};
    ForeignFunction<std::int32_t(Event*, std::uint32_t flags)> create_event{symbol("cuEventCreate")};
    ForeignFunction<std::int32_t(Event, Stream)> record_event{symbol("cuEventRecord")};
    ForeignFunction<std::int32_t(Event)> query_event{symbol("cuEventQuery")};
    ForeignFunction<std::int32_t(float* milliseconds, Event begin, Event end)> elapsed_time{
        symbol("cuEventElapsedTime")};

    bool has_audit_functions() const {
        return stream_is_capturing != nullptr && exchange_capture_mode != nullptr && query_stream != nullptr &&
               memory_info != nullptr && allocate != nullptr && release != nullptr && copy != nullptr;
    }
    /// Returns true if the driver has all functions for measuring times by events.
    bool has_event_functions() const {
        return stream_is_capturing != nullptr && exchange_capture_mode != nullptr && context_id != nullptr &&
               create_event != nullptr && record_event != nullptr && query_event != nullptr &&
               elapsed_time != nullptr;
    }
};

/// Returns the functions of the driver that the program has loaded. All of them are nullptr if there is no driver.
/// The shim itself loads nothing.
CudaDriver find_cuda_driver();

}  // namespace fp32shim::cublas
