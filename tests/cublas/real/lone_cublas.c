// A libcublas.so.13 that does not load the driver, unlike NVIDIA's. If a driver is loaded in its process, the shim
// loaded it.
#include <stddef.h>

static char handle_of_nothing;

int cublasCreate_v2(void** handle) {
    *handle = &handle_of_nothing;
    return 0;
}

int cublasDestroy_v2(void* handle) { return handle == NULL; }

int cublasGetMathMode(void* handle, int* mode) {
    *mode = 0;
    return handle == NULL;
}

int cublasSetMathMode(void* handle, int mode) {
    (void)mode;
    return handle == NULL;
}

// These leave out their other arguments, which they would ignore.
int cublasSgemm_v2(void* handle) { return handle == NULL; }
int cublasGemmEx(void* handle) { return handle == NULL; }
int cublasSsyrk_v2(void* handle) { return handle == NULL; }
