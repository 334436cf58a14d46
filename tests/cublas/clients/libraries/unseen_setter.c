// A library that makes handles and sets the math mode of the program's handles. If it is opened with RTLD_DEEPBIND,
// its calls bypass preloaded libraries.
#include <cublas_v2.h>

cublasStatus_t unseen_create(cublasHandle_t* handle);
cublasStatus_t unseen_set_math_mode(cublasHandle_t handle, cublasMath_t mode);

__attribute__((visibility("default"))) cublasStatus_t unseen_create(cublasHandle_t* handle) {
    return cublasCreate(handle);
}

__attribute__((visibility("default"))) cublasStatus_t unseen_set_math_mode(cublasHandle_t handle, cublasMath_t mode) {
    return cublasSetMathMode(handle, mode);
}
