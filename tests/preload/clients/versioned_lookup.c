// Looks up both versions of sgemm_ in one library (fake_blas_versions.c), by dlvsym and by dlsym.
//
//   versioned_lookup LIBRARY

#define _GNU_SOURCE
#include <dlfcn.h>

#include "client.h"

static void product(const char* what, void* address) {
    sgemm_function* multiply;
    *(void**)&multiply = address;
    const blas_int one = 1;
    const float a = 2, b = 3, alpha = 1, beta = 0;
    float c = 0;
    if (address) multiply("N", "N", &one, &one, &one, &alpha, &a, &one, &b, &one, &beta, &c, &one);
    printf("%s: %g\n", what, c);
}

int main(int argc, char** argv) {
    void* library = argc > 1 ? dlopen(argv[1], RTLD_NOW) : NULL;
    if (!library) return 1;
    product("version 1", dlvsym(library, "sgemm_", "VERSION_1"));
    product("version 2", dlvsym(library, "sgemm_", "VERSION_2"));
    product("default", dlsym(library, "sgemm_"));
    return 0;
}
