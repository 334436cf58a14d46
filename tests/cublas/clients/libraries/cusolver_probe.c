// A library whose name begins like that of cuSOLVER, MAGMA or another library, and which multiplies in the same way.
#include <cublas_v2.h>

cublasStatus_t cusolver_probe_multiply(cublasHandle_t handle, int order, const float* alpha, const float* a,
                                       const float* b, const float* beta, float* c);

__attribute__((visibility("default"))) cublasStatus_t cusolver_probe_multiply(cublasHandle_t handle, int order,
                                                                              const float* alpha, const float* a,
                                                                              const float* b, const float* beta,
                                                                              float* c) {
    return cublasSgemm_v2(handle, CUBLAS_OP_N, CUBLAS_OP_N, order, order, order, alpha, a, order, b, order, beta, c,
                          order);
}
