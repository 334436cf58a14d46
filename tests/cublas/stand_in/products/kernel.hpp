// Makes a kernel for the driver's stand-in from an operation on matrices.
#pragma once

#include <functional>
#include <utility>

#include "driver/driver_private.hpp"
#include "products/level3.hpp"

namespace stand_in {

// Returns the host's view of an operand. Only cublasXt accepts operands in host memory.
inline std::byte* device_view(const void* address, std::size_t bytes) {
    std::byte* const found = stand_in_view(address, bytes);
    if (found == nullptr) throw DeviceFault{CUDA_ERROR_ILLEGAL_ADDRESS};
    return found;
}
inline std::byte* any_view(const void* address, std::size_t bytes) {
    std::byte* const found = stand_in_view(address, bytes);
    return found != nullptr ? found : static_cast<std::byte*>(const_cast<void*>(address));
}

template <class Operation>
Kernel kernel_of(Operation operation, std::byte* (*view)(const void*, std::size_t) = device_view) {
    return [operation = std::move(operation), view] {
        try {
            operation(View(view));
        } catch (const DeviceFault& fault) {
            return static_cast<CUresult>(fault.status);
        }
        return CUDA_SUCCESS;
    };
}

// Converts a launch's result. Every failure becomes EXECUTION_FAILED.
inline cublasStatus_t status_of(CUresult result) {
    return result == CUDA_SUCCESS ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_EXECUTION_FAILED;
}

}  // namespace stand_in
