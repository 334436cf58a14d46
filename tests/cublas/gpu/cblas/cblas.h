// Implements CBLAS's sgemm by cuBLAS. If examples/qtlq/qtlq.cpp is compiled with this header instead of a BLAS's, it
// runs the published case on a GPU. cuBLAS is linked as in any program, so the shim sees this caller.
#pragma once

#include <cublas_v2.h>
#include <cuda.h>

#include <cstddef>
#include <cstdio>
#include <cstdlib>

enum CBLAS_LAYOUT { CblasRowMajor = 101 };
enum CBLAS_TRANSPOSE { CblasNoTrans = 111, CblasTrans = 112 };

namespace cblas_by_cublas {

inline void require(bool good, const char* what, int status) {
    if (good) return;
    if (status == CUDA_ERROR_NO_DEVICE || status == CUDA_ERROR_STUB_LIBRARY) {
        std::fprintf(stderr, "qtlq_cublas: no CUDA device: %s says %d\n", what, status);
        std::exit(77);
    }
    std::fprintf(stderr, "qtlq_cublas: %s says %d\n", what, status);
    std::exit(1);
}
inline void require(CUresult result, const char* what) { require(result == CUDA_SUCCESS, what, result); }
inline void require(cublasStatus_t status, const char* what) {
    require(status == CUBLAS_STATUS_SUCCESS, what, status);
}

inline CUdeviceptr upload(const float* host, std::size_t bytes) {
    CUdeviceptr device = 0;
    require(cuMemAlloc(&device, bytes), "cuMemAlloc");
    require(cuMemcpyHtoD(device, host, bytes), "cuMemcpyHtoD");
    return device;
}

}  // namespace cblas_by_cublas

/// Multiplies row-major, square, dense matrices, as qtlq does. cuBLAS is column-major, so the call computes C^T =
/// op(B)^T op(A)^T from the same bytes in memory.
static void cblas_sgemm(CBLAS_LAYOUT, CBLAS_TRANSPOSE trans_a, CBLAS_TRANSPOSE trans_b, int m, int n, int k,
                        float alpha, const float* a, int lda, const float* b, int ldb, float beta, float* c,
                        int ldc) {
    using namespace cblas_by_cublas;
    require(cuInit(0), "cuInit");
    CUdevice device = 0;
    CUcontext context = nullptr;
    require(cuDeviceGet(&device, 0), "cuDeviceGet");
    require(cuDevicePrimaryCtxRetain(&context, device), "cuDevicePrimaryCtxRetain");
    require(cuCtxSetCurrent(context), "cuCtxSetCurrent");

    const std::size_t bytes = sizeof(float) * n * n;
    const CUdeviceptr device_a = upload(a, bytes);
    const CUdeviceptr device_b = upload(b, bytes);
    const CUdeviceptr device_c = upload(c, bytes);
    const auto at = [](CUdeviceptr address) { return reinterpret_cast<float*>(address); };
    const auto operation = [](CBLAS_TRANSPOSE trans) { return trans == CblasTrans ? CUBLAS_OP_T : CUBLAS_OP_N; };

    cublasHandle_t handle = nullptr;
    require(cublasCreate(&handle), "cublasCreate");
    require(cublasSgemm(handle, operation(trans_b), operation(trans_a), n, m, k, &alpha, at(device_b), ldb,
                        at(device_a), lda, &beta, at(device_c), ldc),
            "cublasSgemm");
    require(cuCtxSynchronize(), "cuCtxSynchronize");
    require(cuMemcpyDtoH(c, device_c, bytes), "cuMemcpyDtoH");
    require(cublasDestroy(handle), "cublasDestroy");
    for (const CUdeviceptr address : {device_a, device_b, device_c}) require(cuMemFree(address), "cuMemFree");
}
