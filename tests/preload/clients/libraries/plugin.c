// A library that multiplies when its run() or answer() is called: 1x1 matrices, 2 times 3. With a library of
// fake_blas.c the result is 6 plus that library's mark. NAME: text that run() prints before the result.
//
// OLD_VERSION: imports sgemm_@VERSION_1. WEAK_BATCH: uses cblas_sgemm_batch if it exists. HAS_SGEMM: defines sgemm_
// itself, and calls it through its procedure linkage table.

#include "../client.h"

#ifdef OLD_VERSION
__asm__(".symver sgemm_, sgemm_@VERSION_1");
#endif

#ifdef HAS_SGEMM
__attribute__((noinline)) void sgemm_(const char* trans_a, const char* trans_b, const blas_int* m, const blas_int* n,
                                      const blas_int* k, const float* alpha, const float* a, const blas_int* lda,
                                      const float* b, const blas_int* ldb, const float* beta, float* c,
                                      const blas_int* ldc) {
    (void)(trans_a && trans_b && m && n && k && lda && ldb && beta && ldc);
    c[0] = *alpha * a[0] * b[0] + 5000;
}
blas_int isamax_(const blas_int* n, const float* x, const blas_int* increment) {
    (void)x;
    return *n < 1 || *increment < 1 ? 0 : 1 + (*n > 1);
}
#endif

#ifdef WEAK_BATCH
__attribute__((weak)) void cblas_sgemm_batch(int layout, const int* trans_a, const int* trans_b, const blas_int* m,
                                             const blas_int* n, const blas_int* k, const float* alpha,
                                             const float** a, const blas_int* lda, const float** b,
                                             const blas_int* ldb, const float* beta, float** c, const blas_int* ldc,
                                             blas_int group_count, const blas_int* group_size);
#endif

float answer(void) {
    const blas_int one = 1;
    const float a = 2, b = 3, alpha = 1, beta = 0;
    float c = 0;
    sgemm_("N", "N", &one, &one, &one, &alpha, &a, &one, &b, &one, &beta, &c, &one);
    return c;
}

#ifdef WEAK_BATCH
/// Multiplies 2 by 3, 4 by 5 and 6 by 7 in one batch.
static void print_batch(void) {
    enum { products = 3 };
    const int no = no_trans;
    const blas_int one = 1, size = products;
    const float a[products] = {2, 4, 6}, b[products] = {3, 5, 7}, alpha = 1, beta = 0;
    float c[products] = {0};
    const float *as[products], *bs[products];
    float* cs[products];
    for (int i = 0; i < products; ++i) {
        as[i] = &a[i];
        bs[i] = &b[i];
        cs[i] = &c[i];
    }
    cblas_sgemm_batch(column_major, &no, &no, &one, &one, &one, &alpha, as, &one, bs, &one, &beta, cs, &one, 1,
                      &size);
    printf("%s: %g %g %g by a batch\n", NAME, c[0], c[1], c[2]);
}
#endif

void run(void) {
#ifdef WEAK_BATCH
    if (cblas_sgemm_batch) {
        print_batch();
        return;
    }
#endif
    printf("%s: %g\n", NAME, answer());
}
