// A BLAS whose products leave errno and the floating-point state alone, while every other function changes both, as
// MKL's do when they initialise the library.

#include <errno.h>
#include <fenv.h>

#include "../client.h"

static void soil(void) {
    volatile double three = 3;
    volatile long double long_three = 3;
    volatile double third = 1 / three;            // inexact, in SSE or NEON
    volatile long double other = 1 / long_three;  // in x87, where there is one
    (void)third;
    (void)other;
    feraiseexcept(FE_DIVBYZERO | FE_INVALID);
    fesetround(FE_UPWARD);
    errno = ENOENT;
}

blas_int isamax_(const blas_int* n, const float* x, const blas_int* increment) {
    (void)increment;
    soil();
    if (*n < 1) return 0;
    return x[1] > x[0] ? 2 : 1;
}

const char* openblas_get_config(void) { return soil(), "OpenBLAS 0.3.99 "; }
const char* openblas_get_corename(void) { return soil(), "Soiling"; }
int openblas_get_num_threads(void) { return soil(), 2; }
const char* Py_GetVersion(void) { return soil(), "no Python"; }

static void multiply(blas_int m, blas_int n, blas_int k, float alpha, const float* a, blas_int lda, const float* b,
                     blas_int ldb, float beta, float* c, blas_int ldc) {
    for (blas_int j = 0; j < n; ++j)
        for (blas_int i = 0; i < m; ++i) {
            float sum = 0;
            for (blas_int p = 0; p < k; ++p) sum += a[i + p * lda] * b[p + j * ldb];
            c[i + j * ldc] = alpha * sum + (beta == 0 ? 0 : beta * c[i + j * ldc]);
        }
}

void sgemm_(const char* trans_a, const char* trans_b, const blas_int* m, const blas_int* n, const blas_int* k,
            const float* alpha, const float* a, const blas_int* lda, const float* b, const blas_int* ldb,
            const float* beta, float* c, const blas_int* ldc) {
    (void)trans_a;
    (void)trans_b;
    multiply(*m, *n, *k, *alpha, a, *lda, b, *ldb, *beta, c, *ldc);
}

void cblas_sgemm(int layout, int trans_a, int trans_b, blas_int m, blas_int n, blas_int k, float alpha,
                 const float* a, blas_int lda, const float* b, blas_int ldb, float beta, float* c, blas_int ldc) {
    (void)layout;
    (void)trans_a;
    (void)trans_b;
    multiply(m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}
