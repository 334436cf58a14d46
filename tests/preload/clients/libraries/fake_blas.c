// A tiny BLAS. Its sgemm adds MARK to every element of C, so that a result shows which library computed it.
//
// Column-major and untransposed products only. MARK: the number to add. HAS_BATCHES: with batch functions.
// VERSION_NODE: the symbol version of sgemm_, through a version script.

#include "../client.h"

#ifndef MARK
#define MARK 0
#endif

/// Function that a client can set, called in the middle of every product, where forks, signals and jumps happen.
void (*fake_blas_hook)(void) = NULL;

/// The shim calls this routine to find the width of the library's integers.
blas_int isamax_(const blas_int* n, const float* x, const blas_int* increment) {
    blas_int best = 0;
    if (*n < 1 || *increment < 1) return 0;
    for (blas_int i = 1; i < *n; ++i) {
        const float candidate = x[i * *increment] < 0 ? -x[i * *increment] : x[i * *increment];
        const float so_far = x[best * *increment] < 0 ? -x[best * *increment] : x[best * *increment];
        if (candidate > so_far) best = i;
    }
    return best + 1;
}

static void multiply(blas_int m, blas_int n, blas_int k, float alpha, const float* a, blas_int lda, const float* b,
                     blas_int ldb, float beta, float* c, blas_int ldc) {
    if (fake_blas_hook) fake_blas_hook();
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

#ifdef HAS_BATCHES
void cblas_sgemm_batch(int layout, const int* trans_a, const int* trans_b, const blas_int* m, const blas_int* n,
                       const blas_int* k, const float* alpha, const float** a, const blas_int* lda, const float** b,
                       const blas_int* ldb, const float* beta, float** c, const blas_int* ldc, blas_int group_count,
                       const blas_int* group_size) {
    (void)layout;
    (void)trans_a;
    (void)trans_b;
    blas_int product = 0;
    for (blas_int g = 0; g < group_count; ++g) {
        for (blas_int i = 0; i < group_size[g]; ++i, ++product)
            multiply(m[g], n[g], k[g], alpha[g], a[product], lda[g], b[product], ldb[g], beta[g], c[product], ldc[g]);
    }
}

void sgemm_batch_(const char* trans_a, const char* trans_b, const blas_int* m, const blas_int* n, const blas_int* k,
                  const float* alpha, const float** a, const blas_int* lda, const float** b, const blas_int* ldb,
                  const float* beta, float** c, const blas_int* ldc, const blas_int* group_count,
                  const blas_int* group_size) {
    (void)trans_a;
    (void)trans_b;
    cblas_sgemm_batch(column_major, NULL, NULL, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc, *group_count,
                      group_size);
}

void cblas_sgemm_batch_strided(int layout, int trans_a, int trans_b, blas_int m, blas_int n, blas_int k, float alpha,
                               const float* a, blas_int lda, blas_int stride_a, const float* b, blas_int ldb,
                               blas_int stride_b, float beta, float* c, blas_int ldc, blas_int stride_c,
                               blas_int batch_count) {
    (void)layout;
    (void)trans_a;
    (void)trans_b;
    for (blas_int i = 0; i < batch_count; ++i)
        multiply(m, n, k, alpha, a + i * stride_a, lda, b + i * stride_b, ldb, beta, c + i * stride_c, ldc);
}

void sgemm_batch_strided_(const char* trans_a, const char* trans_b, const blas_int* m, const blas_int* n,
                          const blas_int* k, const float* alpha, const float* a, const blas_int* lda,
                          const blas_int* stride_a, const float* b, const blas_int* ldb, const blas_int* stride_b,
                          const float* beta, float* c, const blas_int* ldc, const blas_int* stride_c,
                          const blas_int* batch_count) {
    (void)trans_a;
    (void)trans_b;
    cblas_sgemm_batch_strided(column_major, no_trans, no_trans, *m, *n, *k, *alpha, a, *lda, *stride_a, b, *ldb,
                              *stride_b, *beta, c, *ldc, *stride_c, *batch_count);
}
#endif
