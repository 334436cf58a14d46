// A library that has nothing in common with BLAS, except some names of functions. Their signatures differ from a
// product's as much as C allows: integers, doubles, a structure by value, variable arguments, more floating-point
// arguments than registers, results in floating-point registers and in memory.
//
// WITH_BLAS: the library also has a real sgemm_, so that only the arguments show that `sgemm` is no product.

#include "other_sgemm.h"

#include <stdarg.h>

int sgemm(int first, double second, int third) { return first + (int)second + third; }

double SGEMM(struct triple value, double factor) { return factor * (value.x + value.y + (double)value.n); }

double cgemm(int count, ...) {
    va_list list;
    va_start(list, count);
    double sum = 0;
    for (int i = 0; i < count; ++i) sum += va_arg(list, double);
    va_end(list);
    return sum;
}

double ssymm(float a, float b, float c, float d, float e, float f, float g, float h, float i, float j, double k) {
    return a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + 7 * g + 8 * h + 9 * i + 10 * j + 11 * k;
}

struct triple ssyrk(long n) {
    return (struct triple){(double)n, (double)-n, n};
}

long strmm(long a, long b, long c, long d, long e, long f, long g, long h, long i) {
    return a + 10 * b + 100 * c + 1000 * d + 10000 * e + 100000 * f + 1000000 * g + 10000000 * h + 100000000 * i;
}

float strsm(float x) { return x / 2; }

const char* CTRMM(const char* text) { return text + 1; }

#ifdef WITH_BLAS
int isamax_(const int* n, const float* x, const int* increment) {
    (void)x;
    return *n < 1 || *increment < 1 ? 0 : 1 + (*n > 1);
}
void sgemm_(const char* trans_a, const char* trans_b, const int* m, const int* n, const int* k, const float* alpha,
            const float* a, const int* lda, const float* b, const int* ldb, const float* beta, float* c,
            const int* ldc) {
    (void)(trans_a && trans_b && m && n && k && lda && ldb && beta && ldc);
    c[0] = *alpha * a[0] * b[0] + 7000;
}
#endif
