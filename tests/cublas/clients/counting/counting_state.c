#include <stdlib.h>

#include "counting_cublas.h"

enum { success = 0, not_initialized = 1 };

int cublasCreate_v2(void** handle) {
    *handle = calloc(1, sizeof(struct CountingHandle));
    return *handle == NULL;
}

int cublasDestroy_v2(void* handle) {
    free(handle);
    return success;
}

int cublasGetMathMode(void* handle, int* mode) {
    if (handle == NULL) return not_initialized;
    *mode = __atomic_load_n(&((struct CountingHandle*)handle)->math_mode, __ATOMIC_RELAXED);
    return success;
}

int cublasSetMathMode(void* handle, int mode) {
    if (handle == NULL) return not_initialized;
    __atomic_store_n(&((struct CountingHandle*)handle)->math_mode, mode, __ATOMIC_RELAXED);
    return success;
}

int cublasGetProperty(int property, int* value) {
    static const int version[] = {13, 1, 0};
    *value = version[property];
    return success;
}
