// A program that calls the functions of other_sgemm.c. Run once without any BLAS in the process, and once with one.

#include "libraries/other_sgemm.h"

#include <stdio.h>

#ifdef BESIDE_BLAS
#include "client.h"
#endif

int main(void) {
    for (int i = 0; i < 2; ++i) {
        printf("%d\n", sgemm(1, 2.5, 3));
        printf("%g\n", SGEMM((struct triple){1.5, 2.5, 3}, 2));
        printf("%g\n", cgemm(10, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0));
        printf("%g\n", ssymm(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11));
        const struct triple result = ssyrk(7);
        printf("%g %g %ld\n", result.x, result.y, result.n);
        printf("%ld\n", strmm(1, 2, 3, 4, 5, 6, 7, 8, 9));
        printf("%g\n", strsm(3));
        printf("%s\n", CTRMM("?text"));
    }
#ifdef BESIDE_BLAS
    const blas_int one = 1;
    const float a = 2, b = 3, alpha = 1, beta = 0;
    float c = 0;
    sgemm_("N", "N", &one, &one, &one, &alpha, &a, &one, &b, &one, &beta, &c, &one);
    printf("%g\n", c);
#endif
    return 0;
}
