// Multiplies before any library is initialised, even the C library.

#include "client.h"

static float product(void) {
    const blas_int one = 1;
    const float a = 2, b = 3, alpha = 1, beta = 0;
    float c = 0;
    sgemm_("N", "N", &one, &one, &one, &alpha, &a, &one, &b, &one, &beta, &c, &one);
    return c;
}

static float first;
static void multiply(void) { first = product(); }
__attribute__((section(".preinit_array"), used)) static void (*const before_libraries)(void) = multiply;

int main(void) {
    printf("%g %g\n", first, product());
    return 0;
}
