// A program that defines sgemm_ itself. The libraries that it loads also use this function.
//
//   own_sgemm PLUGIN

#include <dlfcn.h>

#include "client.h"

__attribute__((noinline)) void sgemm_(const char* trans_a, const char* trans_b, const blas_int* m, const blas_int* n,
                                      const blas_int* k, const float* alpha, const float* a, const blas_int* lda,
                                      const float* b, const blas_int* ldb, const float* beta, float* c,
                                      const blas_int* ldc) {
    (void)(trans_a && trans_b && m && n && k && lda && ldb && beta && ldc);
    c[0] = *alpha * a[0] * b[0] + 9000;
}

int main(int argc, char** argv) {
    const blas_int one = 1;
    const float a = 2, b = 3, alpha = 1, beta = 0;
    float c = 0;
    sgemm_("N", "N", &one, &one, &one, &alpha, &a, &one, &b, &one, &beta, &c, &one);
    printf("own: %g\n", c);
    void* plugin = argc > 1 ? dlopen(argv[1], RTLD_NOW) : NULL;
    if (!plugin) return 1;
    void (*run)(void);
    *(void**)&run = dlsym(plugin, "run");
    run();
    return 0;
}
