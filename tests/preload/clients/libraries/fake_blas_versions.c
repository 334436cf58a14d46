// A library with two versions of sgemm_: VERSION_1 adds 1000 to every element of C, the default version adds 2000.

#include "../client.h"

blas_int isamax_(const blas_int* n, const float* x, const blas_int* increment) {
    (void)x;
    return *n < 1 || *increment < 1 ? 0 : 1 + (*n > 1);
}

static void mark(float* c, float by) { c[0] += by; }

#define ARGUMENTS                                                                                      \
    const char *trans_a, const char *trans_b, const blas_int *m, const blas_int *n, const blas_int *k, \
        const float *alpha, const float *a, const blas_int *lda, const float *b, const blas_int *ldb,  \
        const float *beta, float *c, const blas_int *ldc
#define UNUSED (void)(trans_a && trans_b && m && n && k && alpha && a && lda && b && ldb && beta && ldc)

void sgemm_old(ARGUMENTS) {
    UNUSED;
    mark(c, 1000);
}
void sgemm_new(ARGUMENTS) {
    UNUSED;
    mark(c, 2000);
}

__asm__(".symver sgemm_old, sgemm_@VERSION_1");
__asm__(".symver sgemm_new, sgemm_@@VERSION_2");
