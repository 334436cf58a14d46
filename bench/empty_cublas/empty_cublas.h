// A libcublas.so.13 and a libcuda.so.1 whose products do nothing, so that only the cost of a call is measured. Types
// are reduced to those that the calling convention distinguishes: enums are ints, handles and operands pointers.
#pragma once

#ifdef __cplusplus
extern "C" {
#endif

int cuInit(unsigned flags);

int cublasCreate_v2(void** handle);
int cublasDestroy_v2(void* handle);
int cublasGetVersion_v2(void* handle, int* version);
int cublasGetProperty(int property, int* value);
int cublasGetMathMode(void* handle, int* mode);
int cublasSetMathMode(void* handle, int mode);

int cublasSgemm_v2(void* handle, int trans_a, int trans_b, int m, int n, int k, const float* alpha, const float* a,
                   int lda, const float* b, int ldb, const float* beta, float* c, int ldc);
int cublasGemmEx(void* handle, int trans_a, int trans_b, int m, int n, int k, const void* alpha, const void* a,
                 int a_type, int lda, const void* b, int b_type, int ldb, const void* beta, void* c, int c_type,
                 int ldc, int compute_type, int algorithm);
int cublasSsyrk_v2(void* handle, int uplo, int trans, int n, int k, const float* alpha, const float* a, int lda,
                   const float* beta, float* c, int ldc);

/// Addresses of the functions themselves. Calls to these addresses bypass anything that is preloaded.
struct EmptyCublas {
    int (*sgemm)(void*, int, int, int, int, int, const float*, const float*, int, const float*, int, const float*,
                 float*, int);
    int (*gemm_ex)(void*, int, int, int, int, int, const void*, const void*, int, int, const void*, int, int,
                   const void*, void*, int, int, int, int);
    int (*ssyrk)(void*, int, int, int, int, const float*, const float*, int, const float*, float*, int);
};
extern const struct EmptyCublas empty_cublas;

/// The last product that reached the library: the compute type of a GemmEx, otherwise 0; and the handle's math mode.
struct LastProduct {
    int compute_type, math_mode;
};
extern struct LastProduct empty_cublas_last_product;

#ifdef __cplusplus
}
#endif
