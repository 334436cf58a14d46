#include "library_handle.hpp"

#include "driver/driver_private.hpp"

namespace stand_in {

cublasStatus_t attach(LibraryHandle* handle) {
    CUcontext context = nullptr;
    int driver = 0;
    // A driver cannot run CUDA of a newer major version.
    if (cuDriverGetVersion(&driver) != CUDA_SUCCESS || driver / 1000 < CUDA_VERSION / 1000)
        return CUBLAS_STATUS_NOT_INITIALIZED;
    if (cuInit(0) != CUDA_SUCCESS || cuCtxGetCurrent(&context) != CUDA_SUCCESS) return CUBLAS_STATUS_NOT_INITIALIZED;
    if (context == nullptr &&
        (cuDevicePrimaryCtxRetain(&context, 0) != CUDA_SUCCESS || cuCtxSetCurrent(context) != CUDA_SUCCESS))
        return CUBLAS_STATUS_NOT_INITIALIZED;
    if (cuCtxGetDevice(&handle->device) != CUDA_SUCCESS) return CUBLAS_STATUS_NOT_INITIALIZED;
    handle->compute_capability = stand_in_compute_capability(handle->device);
    handle->mark.store(LibraryHandle::alive_mark, std::memory_order_release);
    return CUBLAS_STATUS_SUCCESS;
}

}  // namespace stand_in
