// Calls every product of libcublas with plausible arguments and no handle. Also calls GemmEx with enums that do not
// exist.
#include "client.h"
#include "operands.h"

#include <cublas_api.h>

#define N CUBLAS_OP_N
#define T CUBLAS_OP_T
#define UPPER CUBLAS_FILL_MODE_UPPER
#define LEFT CUBLAS_SIDE_LEFT
#define UNIT CUBLAS_DIAG_UNIT

/// Calls a function and its form with 64-bit sizes.
#define BOTH(name, ...)      \
    CALL(name, __VA_ARGS__); \
    CALL(name##_64, __VA_ARGS__)

/// Calls a routine in float32 and in complex64.
#define REAL_AND_COMPLEX(routine, ...)   \
    BOTH(cublasS##routine, __VA_ARGS__); \
    BOTH(cublasC##routine, __VA_ARGS__)

static void call_gemm(struct Operands* o) {
    void *alpha = o->alpha, *beta = o->beta, *a = o->a, *b = o->b, *c = o->c;
    void *aa = o->a_array, *ba = o->b_array, *ca = o->c_array;
    const int n = order, stride = order * order;
    REAL_AND_COMPLEX(gemm_v2, NULL, N, T, n, n, n, alpha, a, n, b, n, beta, c, n);
    BOTH(cublasCgemm3m, NULL, N, T, n, n, n, alpha, a, n, b, n, beta, c, n);
    REAL_AND_COMPLEX(gemmBatched, NULL, N, T, n, n, n, alpha, aa, n, ba, n, beta, ca, n, batch_count);
    BOTH(cublasCgemm3mBatched, NULL, N, T, n, n, n, alpha, aa, n, ba, n, beta, ca, n, batch_count);
    REAL_AND_COMPLEX(gemmStridedBatched, NULL, N, T, n, n, n, alpha, a, n, stride, b, n, stride, beta, c, n, stride,
                     1);
    BOTH(cublasCgemm3mStridedBatched, NULL, N, T, n, n, n, alpha, a, n, stride, b, n, stride, beta, c, n, stride, 1);

    void *ops = o->operations, *sizes = o->sizes, *groups = o->group_size;
    CALL(cublasSgemmGroupedBatched, NULL, ops, ops, sizes, sizes, sizes, alpha, aa, sizes, ba, sizes, beta, ca, sizes,
         batch_count, groups);
    CALL(cublasGemmGroupedBatchedEx, NULL, ops, ops, sizes, sizes, sizes, alpha, aa, CUDA_R_32F, sizes, ba,
         CUDA_R_32F, sizes, beta, ca, CUDA_R_32F, sizes, batch_count, groups, CUBLAS_COMPUTE_32F);
    sizes = o->wide_sizes, groups = o->wide_group_size;
    CALL(cublasSgemmGroupedBatched_64, NULL, ops, ops, sizes, sizes, sizes, alpha, aa, sizes, ba, sizes, beta, ca,
         sizes, batch_count, groups);
    CALL(cublasGemmGroupedBatchedEx_64, NULL, ops, ops, sizes, sizes, sizes, alpha, aa, CUDA_R_32F, sizes, ba,
         CUDA_R_32F, sizes, beta, ca, CUDA_R_32F, sizes, batch_count, groups, CUBLAS_COMPUTE_32F);
}

static void call_typed_gemm(struct Operands* o, cudaDataType type, cublasComputeType_t compute_type,
                            cublasGemmAlgo_t algorithm) {
    void *alpha = o->alpha, *beta = o->beta, *a = o->a, *b = o->b, *c = o->c;
    void *aa = o->a_array, *ba = o->b_array, *ca = o->c_array;
    const int n = order, stride = order * order;
    printf("type %d, compute type %d, algorithm %d\n", (int)type, (int)compute_type, (int)algorithm);
    BOTH(cublasSgemmEx, NULL, N, T, n, n, n, alpha, a, type, n, b, type, n, beta, c, type, n);
    BOTH(cublasCgemmEx, NULL, N, T, n, n, n, alpha, a, type, n, b, type, n, beta, c, type, n);
    BOTH(cublasCgemm3mEx, NULL, N, T, n, n, n, alpha, a, type, n, b, type, n, beta, c, type, n);
    BOTH(cublasGemmEx, NULL, N, T, n, n, n, alpha, a, type, n, b, type, n, beta, c, type, n, compute_type, algorithm);
    BOTH(cublasGemmBatchedEx, NULL, N, T, n, n, n, alpha, aa, type, n, ba, type, n, beta, ca, type, n, batch_count,
         compute_type, algorithm);
    BOTH(cublasGemmStridedBatchedEx, NULL, N, T, n, n, n, alpha, a, type, n, stride, b, type, n, stride, beta, c,
         type, n, stride, 1, compute_type, algorithm);
}

static void call_symmetric_and_triangular(struct Operands* o) {
    void *alpha = o->alpha, *beta = o->beta, *a = o->a, *b = o->b, *c = o->c;
    void *aa = o->a_array, *ba = o->b_array;
    const int n = order;
    REAL_AND_COMPLEX(symm_v2, NULL, LEFT, UPPER, n, n, alpha, a, n, b, n, beta, c, n);
    BOTH(cublasChemm_v2, NULL, LEFT, UPPER, n, n, alpha, a, n, b, n, beta, c, n);
    REAL_AND_COMPLEX(syrk_v2, NULL, UPPER, N, n, n, alpha, a, n, beta, c, n);
    BOTH(cublasCherk_v2, NULL, UPPER, N, n, n, alpha, a, n, beta, c, n);
    BOTH(cublasCsyrkEx, NULL, UPPER, N, n, n, alpha, a, CUDA_C_32F, n, beta, c, CUDA_C_32F, n);
    BOTH(cublasCsyrk3mEx, NULL, UPPER, N, n, n, alpha, a, CUDA_C_32F, n, beta, c, CUDA_C_32F, n);
    BOTH(cublasCherkEx, NULL, UPPER, N, n, n, alpha, a, CUDA_C_32F, n, beta, c, CUDA_C_32F, n);
    BOTH(cublasCherk3mEx, NULL, UPPER, N, n, n, alpha, a, CUDA_C_32F, n, beta, c, CUDA_C_32F, n);
    REAL_AND_COMPLEX(syr2k_v2, NULL, UPPER, N, n, n, alpha, a, n, b, n, beta, c, n);
    REAL_AND_COMPLEX(syrkx, NULL, UPPER, N, n, n, alpha, a, n, b, n, beta, c, n);
    BOTH(cublasCher2k_v2, NULL, UPPER, N, n, n, alpha, a, n, b, n, beta, c, n);
    BOTH(cublasCherkx, NULL, UPPER, N, n, n, alpha, a, n, b, n, beta, c, n);
    REAL_AND_COMPLEX(trmm_v2, NULL, LEFT, UPPER, N, UNIT, n, n, alpha, a, n, b, n, c, n);
    REAL_AND_COMPLEX(trsm_v2, NULL, LEFT, UPPER, N, UNIT, n, n, alpha, a, n, b, n);
    REAL_AND_COMPLEX(trsmBatched, NULL, LEFT, UPPER, N, UNIT, n, n, alpha, aa, n, ba, n, batch_count);
}

static void call_with_odd_arguments(struct Operands* o) {
    void *alpha = o->alpha, *a = o->a, *c = o->c;
    puts("nothing at all");
    BOTH(cublasSgemm_v2, NULL, N, N, 0, 0, 0, NULL, NULL, 0, NULL, 0, NULL, NULL, 0);
    BOTH(cublasSsyrk_v2, NULL, UPPER, N, 0, 0, NULL, NULL, 0, NULL, NULL, 0);
    puts("sizes and options that do not exist");
    BOTH(cublasSgemm_v2, NULL, (cublasOperation_t)77, N, -1, 4, 4, alpha, a, 4, a, 4, alpha, c, 1);
    BOTH(cublasStrsm_v2, NULL, (cublasSideMode_t)9, UPPER, N, UNIT, 4, -4, alpha, a, 4, c, 4);
}

void call_products(void) {
    struct Operands operands = make_operands();
    call_gemm(&operands);
    call_symmetric_and_triangular(&operands);
    call_typed_gemm(&operands, CUDA_R_32F, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT);
    call_typed_gemm(&operands, CUDA_C_32F, CUBLAS_COMPUTE_32F_FAST_TF32, CUBLAS_GEMM_DEFAULT_TENSOR_OP);
    call_typed_gemm(&operands, CUDA_R_16F, CUBLAS_COMPUTE_32F_FAST_16F, CUBLAS_GEMM_ALGO0);
    call_typed_gemm(&operands, CUDA_R_64F, CUBLAS_COMPUTE_64F, CUBLAS_GEMM_DEFAULT);
    call_typed_gemm(&operands, (cudaDataType)999, (cublasComputeType_t)999, (cublasGemmAlgo_t)999);
    call_with_odd_arguments(&operands);
    for (int i = 0; i < 2 * order * order; ++i)
        if (operands.c[i] != -1.0F) printf("c[%d] is %g\n", i, operands.c[i]);
}
