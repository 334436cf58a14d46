// Turns a checked call of a cuBLAS function into queued work.
#pragma once

#include "cublas/calls.hpp"
#include "cublas/handle.hpp"
#include "environment.hpp"
#include "named_kernel.hpp"
#include "products/kernel.hpp"

namespace stand_in {

inline Scalar scalar_of(cublasHandle_t handle, const void* address, cudaDataType type) {
    return Scalar(address, type, handle->pointer_mode.load(std::memory_order_relaxed) == CUBLAS_POINTER_MODE_DEVICE);
}

inline CUstream stream_of(cublasHandle_t handle) {
    return reinterpret_cast<CUstream>(handle->stream.load(std::memory_order_relaxed));
}

template <class Operation>
cublasStatus_t launch(Caller caller, Operation operation) {
    const int device = caller.handle->head.device;
    launch_named_kernel(caller.xt ? nullptr : stream_of(caller.handle));
    if (caller.xt) return status_of(stand_in_run(device, kernel_of(std::move(operation), any_view)));
    return status_of(stand_in_launch(device, stream_of(caller.handle), kernel_of(std::move(operation))));
}

}  // namespace stand_in
