// Checks that products leave no upper half of a vector register in use. The program and its BLAS use SSE only.
//
//   upper_halves            calls the linked sgemm_
//   upper_halves LIBRARY    calls sgemm_ from dlsym in LIBRARY

#define _GNU_SOURCE
#include <dlfcn.h>

#include "client.h"
#include "vector_state.h"

enum { n = 24 };
static float a[n * n], b[n * n], c[n * n];
static const blas_int size = n;
static const float alpha = 1, beta = 1;  // with 0, the library calls memset, which clears the upper halves itself

/// Multiplies. Returns 1 if upper halves are in use afterwards, 0 if not, -1 if they were in use before.
static int multiply(sgemm_function* function) {
    clear_upper_halves();
    if (upper_halves_in_use()) return -1;
    function("N", "N", &size, &size, &size, &alpha, a, &size, b, &size, &beta, c, &size);
    return upper_halves_in_use();
}

int main(int argc, char** argv) {
    if (!upper_halves_can_be_seen()) {
        printf("cannot be seen\n");
        return 0;
    }
    fill(a, n * n, 1);
    fill(b, n * n, 2);
    sgemm_function* function = &sgemm_;
    int in_use[40];
    int lookup = 0;
    if (argc > 1) {
        void* library = dlopen(argv[1], RTLD_NOW);
        if (library == NULL) return 2;
        clear_upper_halves();
        *(void**)&function = dlsym(library, "sgemm_");
        lookup = upper_halves_in_use();
    }
    for (int i = 0; i < 40; ++i) in_use[i] = multiply(function);
    if (lookup) printf("in use after dlsym\n");
    for (int i = 0; i < 40; ++i)
        if (in_use[i]) printf("in use after product %d\n", i + 1);
    print_bits("c", c, n * n);
    return 0;
}
