#pragma GCC diagnostic ignored "-Wunused-parameter"  // the functions have the parameters of cuBLAS

#include <stddef.h>

#include "counting_cublas.h"

enum { success = 0, not_initialized = 1, not_supported = 15 };
enum { default_mode = 0, pedantic_mode = 2, compute_32f = 68, compute_32f_pedantic = 69 };

struct CountedCalls counted_calls;

/// Counts a product, and separately those that permit less than float32. Without a compute type, or with the plain
/// one, the handle's mode decides.
static int count(const struct CountingHandle* handle, int compute_type) {
    if (handle == NULL) return not_initialized;
    const int mode = __atomic_load_n(&handle->math_mode, __ATOMIC_RELAXED);
    const int is_plain = compute_type == 0 || compute_type == compute_32f;
    const int is_float32 =
        is_plain ? mode == default_mode || mode == pedantic_mode : compute_type == compute_32f_pedantic;
    __atomic_fetch_add(&counted_calls.products, 1, __ATOMIC_RELAXED);
    if (!is_float32) __atomic_fetch_add(&counted_calls.below_float32, 1, __ATOMIC_RELAXED);
    __atomic_store_n(&counted_calls.last_compute_type, compute_type, __ATOMIC_RELAXED);
    __atomic_store_n(&counted_calls.last_math_mode, mode, __ATOMIC_RELAXED);
    return counted_calls.inside == NULL ? success : counted_calls.inside();
}

int cublasSgemm_v2(void* handle, int trans_a, int trans_b, int m, int n, int k, const float* alpha, const float* a,
                   int lda, const float* b, int ldb, const float* beta, float* c, int ldc) {
    return count(handle, 0);
}

int cublasSsyrk_v2(void* handle, int uplo, int trans, int n, int k, const float* alpha, const float* a, int lda,
                   const float* beta, float* c, int ldc) {
    return count(handle, 0);
}

int cublasGemmEx(void* handle, int trans_a, int trans_b, int m, int n, int k, const void* alpha, const void* a,
                 int a_type, int lda, const void* b, int b_type, int ldb, const void* beta, void* c, int c_type,
                 int ldc, int compute_type, int algorithm) {
#ifdef REFUSES_COMPUTE_TYPES
    return not_supported;
#else
    return count(handle, compute_type);
#endif
}
