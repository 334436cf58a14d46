// The functions of a BLAS that return numbers, and one that does not.
#include <complex.h>
#include <math.h>

#define DOT(name, E)                                                                    \
    E name##_(const int* n, const E* x, const int* incx, const E* y, const int* incy) { \
        E sum = 0;                                                                      \
        for (int i = 0; i < *n; ++i) {                                                  \
            const int first = *incx < 0 ? (i - *n + 1) * *incx : i * *incx;             \
            sum += x[first] * y[*incy < 0 ? (i - *n + 1) * *incy : i * *incy];          \
        }                                                                               \
        return sum;                                                                     \
    }                                                                                   \
    E cblas_##name(int n, const E* x, int incx, const E* y, int incy) { return name##_(&n, x, &incx, y, &incy); }
#define SUB(name, E)                                                                        \
    void cblas_##name##_sub(int n, const E* x, int incx, const E* y, int incy, E* result) { \
        *result = name##_(&n, x, &incx, y, &incy);                                          \
    }
#define NORM(name, E, R)                                                     \
    R name##_(const int* n, const E* x, const int* incx) {                   \
        R sum = 0;                                                           \
        for (int i = 0; i<*n&& * incx> 0; ++i) sum += (R)cabs(x[i * *incx]); \
        return sum;                                                          \
    }                                                                        \
    R cblas_##name(int n, const E* x, int incx) { return name##_(&n, x, &incx); }

DOT(sdot, float)
DOT(ddot, double)
DOT(cdotu, float complex)
DOT(zdotu, double complex)
SUB(cdotu, float complex)
SUB(zdotu, double complex)
NORM(snrm2, float, float)
NORM(dnrm2, double, double)
NORM(scnrm2, float complex, float)
NORM(dznrm2, double complex, double)

float sdsdot_(const int* n, const float* start, const float* x, const int* incx, const float* y, const int* incy) {
    return *start + sdot_(n, x, incx, y, incy);
}
double dsdot_(const int* n, const float* x, const int* incx, const float* y, const int* incy) {
    return sdot_(n, x, incx, y, incy);
}

/// The shim calls this routine to find the width of the library's integers.
int isamax_(const int* n, const float* x, const int* incx) { return *n < 1 ? 0 : x[0] < x[*incx] ? 2 : 1; }
