// Stand-in of libcublas.so.13: cublasXt. Operands may lie on the host, and calls return when the result is complete.
// There is no math mode, so everything is FP32 unless the environment asks for emulation.

#include <mutex>

#include "cublas/calls.hpp"
#include "driver/driver_private.hpp"
#include "handle_pool.hpp"

#pragma GCC visibility push(default)
#include <cublasXt.h>
#pragma GCC visibility pop

// One ordinary handle does the work, on the first device that was selected.
struct cublasXtContext {
    std::mutex mutex;
    cublasHandle_t handle = nullptr;
    int block_dimension = 2048;
    cublasXtPinnedMemMode_t pinning = CUBLASXT_PINNING_DISABLED;
};

using stand_in::Caller;
using stand_in::Row;

namespace {

stand_in::HandlePool<cublasXtContext>& xt_pool() {
    static auto* const instance = new stand_in::HandlePool<cublasXtContext>;
    return *instance;
}

// Returns the same error for NULL, a destroyed handle and a handle without a device.
Caller caller_of(cublasXtHandle_t handle) {
    if (handle == nullptr) return Caller(nullptr, true);
    std::lock_guard lock(handle->mutex);
    return Caller(handle->handle, true);
}

bool alive(cublasXtHandle_t handle) { return stand_in::alive(caller_of(handle).handle); }

cublasStatus_t create_on(int device, cublasHandle_t* handle) {
    CUcontext context = nullptr;
    if (cuInit(0) != CUDA_SUCCESS || cuDevicePrimaryCtxRetain(&context, device) != CUDA_SUCCESS)
        return CUBLAS_STATUS_INVALID_VALUE;
    cuCtxPushCurrent(context);
    const cublasStatus_t status = cublasCreate(handle);
    cuCtxPopCurrent(&context);
    return status;
}

std::int64_t width(std::size_t value) { return static_cast<std::int64_t>(value); }

}  // namespace

extern "C" {

cublasStatus_t CUBLASWINAPI cublasXtCreate(cublasXtHandle_t* handle) {
    if (handle == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
    cublasHandle_t inner = nullptr;
    if (create_on(0, &inner) != CUBLAS_STATUS_SUCCESS) return CUBLAS_STATUS_NOT_INITIALIZED;
    cublasXtHandle_t fresh = xt_pool().take();
    std::lock_guard lock(fresh->mutex);
    fresh->handle = inner;
    *handle = fresh;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t CUBLASWINAPI cublasXtDestroy(cublasXtHandle_t handle) {
    if (handle == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
    if (!alive(handle)) return CUBLAS_STATUS_NOT_INITIALIZED;
    {
        std::lock_guard lock(handle->mutex);
        cublasDestroy(handle->handle);
        handle->handle = nullptr;
    }
    xt_pool().give_back(handle);
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t CUBLASWINAPI cublasXtDeviceSelect(cublasXtHandle_t handle, int count, int devices[]) {
    if (!alive(handle)) return CUBLAS_STATUS_NOT_INITIALIZED;
    if (count <= 0 || devices == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
    int available = 0;
    cuDeviceGetCount(&available);
    for (int i = 0; i < count; ++i)
        if (devices[i] < 0 || devices[i] >= available) return CUBLAS_STATUS_INVALID_VALUE;
    cublasHandle_t inner = nullptr;
    const cublasStatus_t status = create_on(devices[0], &inner);
    if (status != CUBLAS_STATUS_SUCCESS) return status;
    std::lock_guard lock(handle->mutex);
    cublasDestroy(handle->handle);
    handle->handle = inner;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t CUBLASWINAPI cublasXtSetBlockDim(cublasXtHandle_t handle, int dimension) {
    if (!alive(handle)) return CUBLAS_STATUS_NOT_INITIALIZED;
    if (dimension <= 0) return CUBLAS_STATUS_INVALID_VALUE;
    std::lock_guard lock(handle->mutex);
    handle->block_dimension = dimension;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t CUBLASWINAPI cublasXtGetBlockDim(cublasXtHandle_t handle, int* dimension) {
    if (!alive(handle)) return CUBLAS_STATUS_NOT_INITIALIZED;
    if (dimension == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
    std::lock_guard lock(handle->mutex);
    *dimension = handle->block_dimension;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t CUBLASWINAPI cublasXtSetPinningMemMode(cublasXtHandle_t handle, cublasXtPinnedMemMode_t mode) {
    if (!alive(handle)) return CUBLAS_STATUS_NOT_INITIALIZED;
    if (mode != CUBLASXT_PINNING_DISABLED && mode != CUBLASXT_PINNING_ENABLED) return CUBLAS_STATUS_INVALID_VALUE;
    std::lock_guard lock(handle->mutex);
    handle->pinning = mode;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t CUBLASWINAPI cublasXtGetPinningMemMode(cublasXtHandle_t handle, cublasXtPinnedMemMode_t* mode) {
    if (!alive(handle)) return CUBLAS_STATUS_NOT_INITIALIZED;
    if (mode == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
    std::lock_guard lock(handle->mutex);
    *mode = handle->pinning;
    return CUBLAS_STATUS_SUCCESS;
}

#define XT_GEMM(NAME, T, TYPE, FAMILY)                                                                              \
    cublasStatus_t CUBLASWINAPI NAME(cublasXtHandle_t handle, cublasOperation_t trans_a, cublasOperation_t trans_b, \
                                     std::size_t m, std::size_t n, std::size_t k, const T* alpha, const T* A,       \
                                     std::size_t lda, const T* B, std::size_t ldb, const T* beta, T* C,             \
                                     std::size_t ldc) {                                                             \
        return stand_in::gemm(caller_of(handle), Row::FAMILY,                                                       \
                              {trans_a,                                                                             \
                               trans_b,                                                                             \
                               width(m),                                                                            \
                               width(n),                                                                            \
                               width(k),                                                                            \
                               alpha,                                                                               \
                               {A, TYPE, width(lda)},                                                               \
                               {B, TYPE, width(ldb)},                                                               \
                               beta,                                                                                \
                               {C, TYPE, width(ldc)},                                                               \
                               stand_in::Batch::single,                                                             \
                               1,                                                                                   \
                               TYPE});                                                                              \
    }

#define XT_SYMM(NAME, T, TYPE, HERMITIAN)                                                                       \
    cublasStatus_t CUBLASWINAPI NAME(cublasXtHandle_t handle, cublasSideMode_t side, cublasFillMode_t uplo,     \
                                     std::size_t m, std::size_t n, const T* alpha, const T* A, std::size_t lda, \
                                     const T* B, std::size_t ldb, const T* beta, T* C, std::size_t ldc) {       \
        return stand_in::symm(caller_of(handle), {HERMITIAN,                                                    \
                                                  side,                                                         \
                                                  uplo,                                                         \
                                                  width(m),                                                     \
                                                  width(n),                                                     \
                                                  alpha,                                                        \
                                                  {A, TYPE, width(lda)},                                        \
                                                  {B, TYPE, width(ldb)},                                        \
                                                  beta,                                                         \
                                                  {C, TYPE, width(ldc)}});                                      \
    }

#define XT_SYRK(NAME, T, TYPE, SCALAR, HERMITIAN)                                                                    \
    cublasStatus_t CUBLASWINAPI NAME(cublasXtHandle_t handle, cublasFillMode_t uplo, cublasOperation_t trans,        \
                                     std::size_t n, std::size_t k, const SCALAR* alpha, const T* A, std::size_t lda, \
                                     const SCALAR* beta, T* C, std::size_t ldc) {                                    \
        return stand_in::syrk(caller_of(handle), Row::syrk_honours_math_mode,                                        \
                              {HERMITIAN,                                                                            \
                               uplo,                                                                                 \
                               trans,                                                                                \
                               width(n),                                                                             \
                               width(k),                                                                             \
                               alpha,                                                                                \
                               {A, TYPE, width(lda)},                                                                \
                               beta,                                                                                 \
                               {C, TYPE, width(ldc)}});                                                              \
    }

#define XT_SYR2K(NAME, T, TYPE, SCALAR, HERMITIAN, MIRRORED, FAMILY)                                            \
    cublasStatus_t CUBLASWINAPI NAME(cublasXtHandle_t handle, cublasFillMode_t uplo, cublasOperation_t trans,   \
                                     std::size_t n, std::size_t k, const T* alpha, const T* A, std::size_t lda, \
                                     const T* B, std::size_t ldb, const SCALAR* beta, T* C, std::size_t ldc) {  \
        return stand_in::syr2k(caller_of(handle), Row::FAMILY,                                                  \
                               {HERMITIAN,                                                                      \
                                MIRRORED,                                                                       \
                                uplo,                                                                           \
                                trans,                                                                          \
                                width(n),                                                                       \
                                width(k),                                                                       \
                                alpha,                                                                          \
                                {A, TYPE, width(lda)},                                                          \
                                {B, TYPE, width(ldb)},                                                          \
                                beta,                                                                           \
                                {C, TYPE, width(ldc)}});                                                        \
    }

#define XT_TRMM(NAME, T, TYPE)                                                                                       \
    cublasStatus_t CUBLASWINAPI NAME(cublasXtHandle_t handle, cublasSideMode_t side, cublasFillMode_t uplo,          \
                                     cublasOperation_t trans, cublasDiagType_t diag, std::size_t m, std::size_t n,   \
                                     const T* alpha, const T* A, std::size_t lda, const T* B, std::size_t ldb, T* C, \
                                     std::size_t ldc) {                                                              \
        return stand_in::trmm(caller_of(handle), {side,                                                              \
                                                  uplo,                                                              \
                                                  trans,                                                             \
                                                  diag,                                                              \
                                                  width(m),                                                          \
                                                  width(n),                                                          \
                                                  alpha,                                                             \
                                                  {A, TYPE, width(lda)},                                             \
                                                  {B, TYPE, width(ldb)},                                             \
                                                  {C, TYPE, width(ldc)}});                                           \
    }

#define XT_TRSM(NAME, T, TYPE)                                                                                     \
    cublasStatus_t CUBLASWINAPI NAME(cublasXtHandle_t handle, cublasSideMode_t side, cublasFillMode_t uplo,        \
                                     cublasOperation_t trans, cublasDiagType_t diag, std::size_t m, std::size_t n, \
                                     const T* alpha, const T* A, std::size_t lda, T* B, std::size_t ldb) {         \
        return stand_in::trsm(caller_of(handle), {side,                                                            \
                                                  uplo,                                                            \
                                                  trans,                                                           \
                                                  diag,                                                            \
                                                  width(m),                                                        \
                                                  width(n),                                                        \
                                                  alpha,                                                           \
                                                  {A, TYPE, width(lda)},                                           \
                                                  {B, TYPE, width(ldb)},                                           \
                                                  {B, TYPE, width(ldb)}});                                         \
    }

XT_GEMM(cublasXtSgemm, float, CUDA_R_32F, sgemm_honours_math_mode)
XT_GEMM(cublasXtCgemm, cuComplex, CUDA_C_32F, cgemm_honours_math_mode)
XT_SYMM(cublasXtSsymm, float, CUDA_R_32F, false)
XT_SYMM(cublasXtCsymm, cuComplex, CUDA_C_32F, false)
XT_SYMM(cublasXtChemm, cuComplex, CUDA_C_32F, true)
XT_SYRK(cublasXtSsyrk, float, CUDA_R_32F, float, false)
XT_SYRK(cublasXtCsyrk, cuComplex, CUDA_C_32F, cuComplex, false)
XT_SYRK(cublasXtCherk, cuComplex, CUDA_C_32F, float, true)
XT_SYR2K(cublasXtSsyr2k, float, CUDA_R_32F, float, false, true, syr2k_honours_math_mode)
XT_SYR2K(cublasXtCsyr2k, cuComplex, CUDA_C_32F, cuComplex, false, true, syr2k_honours_math_mode)
XT_SYR2K(cublasXtCher2k, cuComplex, CUDA_C_32F, float, true, true, syr2k_honours_math_mode)
XT_SYR2K(cublasXtSsyrkx, float, CUDA_R_32F, float, false, false, syrkx_honours_math_mode)
XT_SYR2K(cublasXtCsyrkx, cuComplex, CUDA_C_32F, cuComplex, false, false, syrkx_honours_math_mode)
XT_SYR2K(cublasXtCherkx, cuComplex, CUDA_C_32F, float, true, false, syrkx_honours_math_mode)
XT_TRMM(cublasXtStrmm, float, CUDA_R_32F)
XT_TRMM(cublasXtCtrmm, cuComplex, CUDA_C_32F)
XT_TRSM(cublasXtStrsm, float, CUDA_R_32F)
XT_TRSM(cublasXtCtrsm, cuComplex, CUDA_C_32F)
}
