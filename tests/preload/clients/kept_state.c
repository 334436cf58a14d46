// Prints what a program sees of errno, the flags of floating-point exceptions and the rounding mode after its
// products, whose numbers are so small integers that no arithmetic is inexact.

#include <errno.h>
#include <fenv.h>

#include "client.h"

static float a[64 * 64], b[64 * 64], c[64 * 64];

static void show(const char* what, blas_int size) {
    const int error = errno;
    const int flags = fetestexcept(FE_ALL_EXCEPT), rounding = fegetround();
    fesetround(FE_TONEAREST);
    printf("%s %d: errno %d, flags %d, rounding %d, sum %g\n", what, (int)size, error, flags,
           rounding == FE_TONEAREST ? 0 : 1, size == 0 ? 0.0 : (double)c[0]);
    errno = 4242;
    feclearexcept(FE_ALL_EXCEPT);
}

int main(void) {
    const float one = 1, zero = 0;
    for (int i = 0; i < 64 * 64; ++i) a[i] = b[i] = (float)(i % 4);
    errno = 4242;
    feclearexcept(FE_ALL_EXCEPT);
    for (blas_int size = 0; size <= 64; size += 16) {
        for (int repeated = 0; repeated < 2; ++repeated) {
            const blas_int leading = 64;
            sgemm_("N", "N", &size, &size, &size, &one, a, &leading, b, &leading, &zero, c, &leading);
            show("sgemm_", size);
            cblas_sgemm(column_major, no_trans, no_trans, size, size, size, 1, a, 64, b, 64, 0, c, 64);
            show("cblas_sgemm", size);
        }
    }
    return 0;
}
