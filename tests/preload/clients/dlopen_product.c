// Finds its BLAS by dlopen and dlsym, as Julia, TensorFlow and ctypes do. Built with 32-bit and with 64-bit integers.
//
//   dlopen_product LIBRARY [FORMAT]

#include <dlfcn.h>

#include "client.h"

int main(int argc, char** argv) {
    enum { m = 12, n = 20, k = 33 };
    float a[m * k], b[k * n], c[m * n];
    if (argc < 2) return 2;
    void* library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
        fprintf(stderr, "%s\n", dlerror());
        return 1;
    }
    cblas_sgemm_function* multiply;
    *(void**)&multiply = dlsym(library, "cblas_sgemm");
    fill(a, m * k, 1);
    fill(b, k * n, 2);
    fill(c, m * n, 3);
    round_to(argc > 2 ? argv[2] : "fp32", a, m * k);
    round_to(argc > 2 ? argv[2] : "fp32", b, k * n);
    multiply(column_major, no_trans, trans, m, n, k, 0.75F, a, m, b, n, 0.5F, c, m);
    print_bits("c", c, m * n);
    return 0;
}
