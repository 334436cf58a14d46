// Stand-in of libcublas.so.13: the v1 interface, which has one global state, and errors that are queried afterwards.
//
// Its header and cublas_v2.h exclude each other. The v2 functions that this file needs come from cublas_api.h.

#include <atomic>

#include "cublas/calls.hpp"
#include "driver/driver_private.hpp"

#pragma GCC visibility push(default)
#include <cublas.h>
#pragma GCC visibility pop

using stand_in::Row;

namespace {

std::atomic<cublasHandle_t> global_handle = nullptr;
std::atomic<cublasStatus_t> last_error = CUBLAS_STATUS_SUCCESS;

void keep(cublasStatus_t status) {
    if (status != CUBLAS_STATUS_SUCCESS) last_error = status;
}

// A letter that is not in the reference stays invalid.
cublasOperation_t operation(char letter) {
    switch (letter) {
        case 'N':
        case 'n':
            return CUBLAS_OP_N;
        case 'T':
        case 't':
            return CUBLAS_OP_T;
        case 'C':
        case 'c':
            return CUBLAS_OP_C;
        default:
            return static_cast<cublasOperation_t>(-1);
    }
}

template <class Value>
Value one_of(char letter, char first, Value first_value, char second, Value second_value) {
    if (letter == first || letter == first + ('a' - 'A')) return first_value;
    if (letter == second || letter == second + ('a' - 'A')) return second_value;
    return static_cast<Value>(-1);
}
cublasSideMode_t side_of(char letter) { return one_of(letter, 'L', CUBLAS_SIDE_LEFT, 'R', CUBLAS_SIDE_RIGHT); }
cublasFillMode_t fill_of(char letter) {
    return one_of(letter, 'L', CUBLAS_FILL_MODE_LOWER, 'U', CUBLAS_FILL_MODE_UPPER);
}
cublasDiagType_t diagonal_of(char letter) { return one_of(letter, 'N', CUBLAS_DIAG_NON_UNIT, 'U', CUBLAS_DIAG_UNIT); }

}  // namespace

extern "C" {

cublasStatus CUBLASWINAPI cublasInit(void) {
    if (global_handle.load() != nullptr) return CUBLAS_STATUS_SUCCESS;
    cublasHandle_t handle = nullptr;
    const cublasStatus_t status = cublasCreate_v2(&handle);
    if (status != CUBLAS_STATUS_SUCCESS) return status;
    cublasHandle_t none = nullptr;
    if (!global_handle.compare_exchange_strong(none, handle)) cublasDestroy_v2(handle);
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus CUBLASWINAPI cublasShutdown(void) {
    cublasHandle_t const handle = global_handle.exchange(nullptr);
    return handle == nullptr ? CUBLAS_STATUS_NOT_INITIALIZED : cublasDestroy_v2(handle);
}

cublasStatus CUBLASWINAPI cublasGetError(void) { return last_error.exchange(CUBLAS_STATUS_SUCCESS); }

cublasStatus CUBLASWINAPI cublasGetVersion(int* version) { return cublasGetVersion_v2(global_handle, version); }

cublasStatus CUBLASWINAPI cublasSetKernelStream(cudaStream_t stream) {
    return cublasSetStream_v2(global_handle, stream);
}

cublasStatus CUBLASWINAPI cublasAlloc(int n, int element, void** address) {
    if (global_handle.load() == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
    if (n <= 0 || element <= 0 || address == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
    CUdeviceptr allocated = 0;
    if (cuMemAlloc(&allocated, static_cast<std::size_t>(n) * static_cast<std::size_t>(element)) != CUDA_SUCCESS)
        return CUBLAS_STATUS_ALLOC_FAILED;
    *address = reinterpret_cast<void*>(allocated);
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus CUBLASWINAPI cublasFree(void* address) {
    if (global_handle.load() == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
    return cuMemFree(reinterpret_cast<CUdeviceptr>(address)) == CUDA_SUCCESS ? CUBLAS_STATUS_SUCCESS
                                                                             : CUBLAS_STATUS_INTERNAL_ERROR;
}

#define V1_GEMM(NAME, T, TYPE, FAMILY)                                                                    \
    void CUBLASWINAPI NAME(char trans_a, char trans_b, int m, int n, int k, T alpha, const T* A, int lda, \
                           const T* B, int ldb, T beta, T* C, int ldc) {                                  \
        keep(stand_in::gemm(global_handle.load(), Row::FAMILY,                                            \
                            {operation(trans_a),                                                          \
                             operation(trans_b),                                                          \
                             m,                                                                           \
                             n,                                                                           \
                             k,                                                                           \
                             &alpha,                                                                      \
                             {A, TYPE, lda},                                                              \
                             {B, TYPE, ldb},                                                              \
                             &beta,                                                                       \
                             {C, TYPE, ldc},                                                              \
                             stand_in::Batch::single,                                                     \
                             1,                                                                           \
                             TYPE}));                                                                     \
    }

#define V1_SYMM(NAME, T, TYPE, HERMITIAN)                                                                         \
    void CUBLASWINAPI NAME(char side, char uplo, int m, int n, T alpha, const T* A, int lda, const T* B, int ldb, \
                           T beta, T* C, int ldc) {                                                               \
        keep(stand_in::symm(global_handle.load(), {HERMITIAN,                                                     \
                                                   side_of(side),                                                 \
                                                   fill_of(uplo),                                                 \
                                                   m,                                                             \
                                                   n,                                                             \
                                                   &alpha,                                                        \
                                                   {A, TYPE, lda},                                                \
                                                   {B, TYPE, ldb},                                                \
                                                   &beta,                                                         \
                                                   {C, TYPE, ldc}}));                                             \
    }

#define V1_SYRK(NAME, T, TYPE, SCALAR, HERMITIAN)                                                                \
    void CUBLASWINAPI NAME(char uplo, char trans, int n, int k, SCALAR alpha, const T* A, int lda, SCALAR beta,  \
                           T* C, int ldc) {                                                                      \
        keep(stand_in::syrk(                                                                                     \
            global_handle.load(), Row::syrk_honours_math_mode,                                                   \
            {HERMITIAN, fill_of(uplo), operation(trans), n, k, &alpha, {A, TYPE, lda}, &beta, {C, TYPE, ldc}})); \
    }

#define V1_SYR2K(NAME, T, TYPE, SCALAR, HERMITIAN)                                                                 \
    void CUBLASWINAPI NAME(char uplo, char trans, int n, int k, T alpha, const T* A, int lda, const T* B, int ldb, \
                           SCALAR beta, T* C, int ldc) {                                                           \
        keep(stand_in::syr2k(global_handle.load(), Row::syr2k_honours_math_mode,                                   \
                             {HERMITIAN,                                                                           \
                              true,                                                                                \
                              fill_of(uplo),                                                                       \
                              operation(trans),                                                                    \
                              n,                                                                                   \
                              k,                                                                                   \
                              &alpha,                                                                              \
                              {A, TYPE, lda},                                                                      \
                              {B, TYPE, ldb},                                                                      \
                              &beta,                                                                               \
                              {C, TYPE, ldc}}));                                                                   \
    }

// trmm and trsm, both in place.
#define V1_TRIANGULAR(NAME, T, TYPE, FUNCTION)                                                                      \
    void CUBLASWINAPI NAME(char side, char uplo, char trans, char diag, int m, int n, T alpha, const T* A, int lda, \
                           T* B, int ldb) {                                                                         \
        keep(stand_in::FUNCTION(global_handle.load(), {side_of(side),                                               \
                                                       fill_of(uplo),                                               \
                                                       operation(trans),                                            \
                                                       diagonal_of(diag),                                           \
                                                       m,                                                           \
                                                       n,                                                           \
                                                       &alpha,                                                      \
                                                       {A, TYPE, lda},                                              \
                                                       {B, TYPE, ldb},                                              \
                                                       {B, TYPE, ldb}}));                                           \
    }

V1_GEMM(cublasSgemm, float, CUDA_R_32F, sgemm_honours_math_mode)
V1_GEMM(cublasCgemm, cuComplex, CUDA_C_32F, cgemm_honours_math_mode)
V1_SYMM(cublasSsymm, float, CUDA_R_32F, false)
V1_SYMM(cublasCsymm, cuComplex, CUDA_C_32F, false)
V1_SYMM(cublasChemm, cuComplex, CUDA_C_32F, true)
V1_SYRK(cublasSsyrk, float, CUDA_R_32F, float, false)
V1_SYRK(cublasCsyrk, cuComplex, CUDA_C_32F, cuComplex, false)
V1_SYRK(cublasCherk, cuComplex, CUDA_C_32F, float, true)
V1_SYR2K(cublasSsyr2k, float, CUDA_R_32F, float, false)
V1_SYR2K(cublasCsyr2k, cuComplex, CUDA_C_32F, cuComplex, false)
V1_SYR2K(cublasCher2k, cuComplex, CUDA_C_32F, float, true)
V1_TRIANGULAR(cublasStrmm, float, CUDA_R_32F, trmm)
V1_TRIANGULAR(cublasCtrmm, cuComplex, CUDA_C_32F, trmm)
V1_TRIANGULAR(cublasStrsm, float, CUDA_R_32F, trsm)
V1_TRIANGULAR(cublasCtrsm, cuComplex, CUDA_C_32F, trsm)
}
