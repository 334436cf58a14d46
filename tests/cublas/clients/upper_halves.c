// Checks that products of cuBLAS leave no upper half of a vector register in use, whether the shim changes the
// compute type or the handle's mode. Runs on the counting libcublas, which uses no vector register.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>

#include "vector_state.h"

typedef int create_function(void** handle);
typedef int sgemm_function(void* handle, int trans_a, int trans_b, int m, int n, int k, const float* alpha,
                           const float* a, int lda, const float* b, int ldb, const float* beta, float* c, int ldc);
typedef int ssyrk_function(void* handle, int uplo, int trans, int n, int k, const float* alpha, const float* a,
                           int lda, const float* beta, float* c, int ldc);

enum { calls = 20 };

int main(void) {
    if (!upper_halves_can_be_seen()) {
        printf("cannot be seen\n");
        return 0;
    }
    void* library = dlopen("libcublas.so.13", RTLD_NOW);
    if (library == NULL) {
        printf("%s\n", dlerror());
        return 2;
    }
    void* handle = NULL;
    create_function* create;
    sgemm_function* sgemm;
    ssyrk_function* ssyrk;
    *(void**)&create = dlsym(library, "cublasCreate_v2");
    *(void**)&sgemm = dlsym(library, "cublasSgemm_v2");
    *(void**)&ssyrk = dlsym(library, "cublasSsyrk_v2");
    if (!create || !sgemm || !ssyrk || create(&handle) != 0) return 3;
    const float alpha = 1, beta = 0;
    float matrix[64] = {0};
    int failed = 0, in_use[2 * calls];
    for (int i = 0; i < 2 * calls; i += 2) {
        clear_upper_halves();
        failed += sgemm(handle, 0, 0, 8, 8, 8, &alpha, matrix, 8, matrix, 8, &beta, matrix, 8);
        in_use[i] = upper_halves_in_use();
        clear_upper_halves();
        failed += ssyrk(handle, 0, 0, 8, 8, &alpha, matrix, 8, &beta, matrix, 8);
        in_use[i + 1] = upper_halves_in_use();
    }
    for (int i = 0; i < 2 * calls; ++i)
        if (in_use[i]) printf("in use after product %d\n", i + 1);
    printf("%d failed\n", failed);
    return 0;
}
