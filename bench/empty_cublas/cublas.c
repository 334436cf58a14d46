#include "empty_cublas.h"

#include <stddef.h>

enum { success = 0, not_initialized = 1 };

struct Handle {
    int math_mode;
};
static struct Handle the_handle;

struct LastProduct empty_cublas_last_product;

static int note(const struct Handle* handle, int compute_type) {
    if (handle == NULL) return not_initialized;
    empty_cublas_last_product.compute_type = compute_type;
    empty_cublas_last_product.math_mode = handle->math_mode;
    return success;
}

int cublasCreate_v2(void** handle) {
    the_handle.math_mode = 0;
    *handle = &the_handle;
    return success;
}

int cublasDestroy_v2(void* handle) { return handle == NULL ? not_initialized : success; }

int cublasGetVersion_v2(void* handle, int* version) {
    *version = 130100;
    return handle == NULL ? not_initialized : success;
}

int cublasGetProperty(int property, int* value) {
    static const int version[] = {13, 1, 0};
    *value = version[property];
    return success;
}

int cublasGetMathMode(void* handle, int* mode) {
    if (handle == NULL) return not_initialized;
    *mode = ((struct Handle*)handle)->math_mode;
    return success;
}

int cublasSetMathMode(void* handle, int mode) {
    if (handle == NULL) return not_initialized;
    ((struct Handle*)handle)->math_mode = mode;
    return success;
}

// These functions are static, because the address of a public function could be that of a preloaded library's
// function of the same name. The public names are aliases.

static int sgemm(void* handle, int trans_a, int trans_b, int m, int n, int k, const float* alpha, const float* a,
                 int lda, const float* b, int ldb, const float* beta, float* c, int ldc) {
    return note(handle, 0);
}

static int gemm_ex(void* handle, int trans_a, int trans_b, int m, int n, int k, const void* alpha, const void* a,
                   int a_type, int lda, const void* b, int b_type, int ldb, const void* beta, void* c, int c_type,
                   int ldc, int compute_type, int algorithm) {
    return note(handle, compute_type);
}

static int ssyrk(void* handle, int uplo, int trans, int n, int k, const float* alpha, const float* a, int lda,
                 const float* beta, float* c, int ldc) {
    return note(handle, 0);
}

__typeof__(sgemm) cublasSgemm_v2 __attribute__((alias("sgemm")));
__typeof__(gemm_ex) cublasGemmEx __attribute__((alias("gemm_ex")));
__typeof__(ssyrk) cublasSsyrk_v2 __attribute__((alias("ssyrk")));

const struct EmptyCublas empty_cublas = {sgemm, gemm_ex, ssyrk};
