// Functions and variables under bare names of BLAS, which are something else. Compiled with WITH_BLAS, the library
// also has functions under the underscored names, so that the shim takes it for a BLAS.
#include <stdarg.h>

struct Pair {
    float first, second;
};

double ddot(int count, const double* x, const double* y, double scale) {
    double sum = 0;
    for (int i = 0; i < count; ++i) sum += x[i] * y[i];
    return sum * scale;
}
float sdot(float a, float b) { return a * b; }
float snrm2(int count, ...) { return (float)count + 0.5F; }
struct Pair cdotu(float value) {
    const struct Pair pair = {value, 2 * value};
    return pair;
}
long double dnrm2(long double value) { return 2 * value; }
double within(const double* x) { return ddot(2, x, x, 2); }

double dasum = 42.5;
int sasum[] = {1, 2, 3, 4};
double sum_of_variables(void) { return dasum + sasum[3]; }

#ifdef WITH_BLAS
double ddot_(const int* n, const double* x, const int* incx, const double* y, const int* incy) {
    return *n + *x + *incx + *y + *incy;
}
float sdot_(const int* n, const float* x, const int* incx, const float* y, const int* incy) {
    return *x + *y + (float)(*n + *incx + *incy);
}
float snrm2_(const int* n, const float* x, const int* incx) { return *x + (float)(*n + *incx); }
double dnrm2_(const int* n, const double* x, const int* incx) { return *x + *n + *incx; }
void cdotu_(struct Pair* result, const int* n, const float* x, const int* incx, const float* y, const int* incy) {
    if (*n < 0) {
        result->first = result->second = 0;
        return;
    }
    result->first = *x + *y, result->second = (float)(*n + *incx + *incy);
}
#endif
