// Products at four call sites, which their sizes identify: 2 in a template, 3 in a function that is not exported, 4
// and 5 in a function with a C name. FIRST: that name.

#include "../client.h"

namespace {

__attribute__((always_inline)) inline void multiply(blas_int size) {
    float a[25], c[25];
    fill(a, 25, 1);
    const float alpha = 1, beta = 0;
    sgemm_("N", "N", &size, &size, &size, &alpha, a, &size, a, &size, &beta, c, &size);
    volatile float last = c[0];  // keeps the product from being the last instruction of a function
    (void)last;
}

}  // namespace

namespace physics {

template <class T>
__attribute__((noinline)) void solve(T size) {
    multiply(size);
}
template void solve(blas_int size);

namespace {
__attribute__((noinline)) void hidden(blas_int size) { multiply(size); }
}  // namespace

}  // namespace physics

extern "C" {

__attribute__((noinline)) void FIRST(blas_int size) {
    multiply(size);
    multiply(size + 1);
}

void multiply_all(void) {
    physics::solve<blas_int>(2);
    physics::hidden(3);
    FIRST(4);
}
}
