// A BLAS for the emulated processor, since the host has none for it: column-major, untransposed, and slow. Parameter
// errors go to xerbla_, which the program may define.
//
// MARK: a number that is added to every element of C, so that a result shows which library computed it.

#include "../clients/client.h"

#ifndef MARK
#define MARK 0
#endif

/// Function that a client can set, called in the middle of every product.
void (*naive_blas_hook)(void) = NULL;

__attribute__((weak)) void xerbla_(const char* name, const blas_int* info, size_t length) {
    printf("the library's xerbla_ %.*s %d\n", (int)length, name, (int)*info);
}

/// The shim calls this routine to find the width of the library's integers.
blas_int isamax_(const blas_int* n, const float* x, const blas_int* increment) {
    blas_int best = 0;
    if (*n < 1 || *increment < 1) return 0;
    for (blas_int i = 1; i < *n; ++i)
        if (x[i * *increment] > x[best * *increment]) best = i;
    return best + 1;
}

static void multiply(blas_int m, blas_int n, blas_int k, float alpha, const float* a, blas_int lda, const float* b,
                     blas_int ldb, float beta, float* c, blas_int ldc) {
    if (naive_blas_hook) naive_blas_hook();
    for (blas_int j = 0; j < n; ++j) {
        for (blas_int i = 0; i < m; ++i) {
            float sum = 0;
            for (blas_int p = 0; p < k; ++p) sum += a[i + p * lda] * b[p + j * ldb];
            c[i + j * ldc] = alpha * sum + (beta == 0 ? 0 : beta * c[i + j * ldc]) + MARK;
        }
    }
}

void sgemm_(const char* trans_a, const char* trans_b, const blas_int* m, const blas_int* n, const blas_int* k,
            const float* alpha, const float* a, const blas_int* lda, const float* b, const blas_int* ldb,
            const float* beta, float* c, const blas_int* ldc) {
    const blas_int bad = *trans_a != 'N' ? 1 : *trans_b != 'N' ? 2 : *m < 0 ? 3 : *n < 0 ? 4 : *k < 0 ? 5 : 0;
    if (bad) {
        xerbla_("SGEMM ", &bad, 6);
        return;
    }
    multiply(*m, *n, *k, *alpha, a, *lda, b, *ldb, *beta, c, *ldc);
}

void sgemm(const char* trans_a, const char* trans_b, const blas_int* m, const blas_int* n, const blas_int* k,
           const float* alpha, const float* a, const blas_int* lda, const float* b, const blas_int* ldb,
           const float* beta, float* c, const blas_int* ldc) {
    (void)(trans_a && trans_b);
    multiply(*m, *n, *k, *alpha, a, *lda, b, *ldb, *beta, c, *ldc);
}

void cblas_sgemm(int layout, int trans_a, int trans_b, blas_int m, blas_int n, blas_int k, float alpha,
                 const float* a, blas_int lda, const float* b, blas_int ldb, float beta, float* c, blas_int ldc) {
    (void)(layout && trans_a && trans_b);
    multiply(m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}

void cblas_sgemm_batch_strided(int layout, int trans_a, int trans_b, blas_int m, blas_int n, blas_int k, float alpha,
                               const float* a, blas_int lda, blas_int stride_a, const float* b, blas_int ldb,
                               blas_int stride_b, float beta, float* c, blas_int ldc, blas_int stride_c,
                               blas_int batch_count) {
    (void)(layout && trans_a && trans_b);
    for (blas_int i = 0; i < batch_count; ++i)
        multiply(m, n, k, alpha, a + i * stride_a, lda, b + i * stride_b, ldb, beta, c + i * stride_c, ldc);
}

/// Computes C := alpha A A^H + beta C in the upper triangle. Elements of A and C are pairs of floats.
void cblas_cherk(int layout, int uplo, int trans_a, blas_int n, blas_int k, float alpha, const void* a, blas_int lda,
                 float beta, void* c, blas_int ldc) {
    (void)(layout && uplo && trans_a);
    for (blas_int j = 0; j < n; ++j) {
        for (blas_int i = 0; i <= j; ++i) {
            float real = 0, imaginary = 0;
            for (blas_int p = 0; p < k; ++p) {
                const float* x = (const float*)a + 2 * (i + p * lda);
                const float* y = (const float*)a + 2 * (j + p * lda);
                real += x[0] * y[0] + x[1] * y[1];
                imaginary += x[1] * y[0] - x[0] * y[1];
            }
            float* element = (float*)c + 2 * (i + j * ldc);
            element[0] = alpha * real + beta * element[0] + MARK;
            element[1] = i == j ? 0 : alpha * imaginary + beta * element[1];
        }
    }
}
