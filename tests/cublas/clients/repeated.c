// Makes the same small product again and again, for counts of instructions:
//
//     repeated sgemm|lt CALLS
#include <cublasLt.h>
#include <cublas_v2.h>
#include <cuda.h>
#include <stdlib.h>
#include <string.h>

int main(int count, char** arguments) {
    const int is_lt = count == 3 && strcmp(arguments[1], "lt") == 0;
    const float one = 1;
    CUcontext context;
    CUdeviceptr memory;
    cublasHandle_t handle;
    cublasLtMatmulDesc_t description;
    cublasLtMatrixLayout_t layout;
    if (count != 3 || cuInit(0) || cuDevicePrimaryCtxRetain(&context, 0) || cuCtxSetCurrent(context) ||
        cuMemAlloc(&memory, sizeof one) || cublasCreate_v2(&handle) ||
        cublasLtMatmulDescCreate(&description, CUBLAS_COMPUTE_32F, CUDA_R_32F) ||
        cublasLtMatrixLayoutCreate(&layout, CUDA_R_32F, 1, 1, 1))
        return 2;
    float* const x = (float*)memory;
    int failed = 0;
    for (int i = atoi(arguments[2]); i > 0; --i)
        failed += is_lt ? cublasLtMatmul((cublasLtHandle_t)handle, description, &one, x, layout, x, layout, &one, x,
                                         layout, x, layout, NULL, NULL, 0, 0)
                        : cublasSgemm_v2(handle, CUBLAS_OP_N, CUBLAS_OP_N, 1, 1, 1, &one, x, 1, x, 1, &one, x, 1);
    return failed != 0;
}
