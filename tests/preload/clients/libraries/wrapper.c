// A library that passes calls on to sgemm_ without a frame of its own (a tail call), and that returns the address of
// sgemm_. Callers of either multiply although they do not import the name.

#include "../client.h"

void wrapped_sgemm(const char* trans_a, const char* trans_b, const blas_int* m, const blas_int* n, const blas_int* k,
                   const float* alpha, const float* a, const blas_int* lda, const float* b, const blas_int* ldb,
                   const float* beta, float* c, const blas_int* ldc) {
    sgemm_(trans_a, trans_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}

sgemm_function* sgemm_pointer(void) { return &sgemm_; }
