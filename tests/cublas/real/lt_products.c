// Handles, heuristics, algorithms and products of cublasLt, with and without real descriptors, without a device.
#include "client.h"
#include "operands.h"

#include <cublasLt.h>

struct Descriptors {
    cublasLtMatmulDesc_t product;
    cublasLtMatrixLayout_t layout;
    cublasLtMatmulPreference_t preference;
};

static void call_with(cublasLtHandle_t handle, struct Descriptors d, const cublasLtMatmulAlgo_t* algorithm) {
    struct Operands o = make_operands();
    cublasLtMatmulHeuristicResult_t results[2] = {0};
    int found = -1;
    CALL(cublasLtMatmulAlgoGetHeuristic, handle, d.product, d.layout, d.layout, d.layout, d.layout, d.preference, 2,
         results, &found);
    printf("  %d found\n", found);
    CALL(cublasLtMatmulAlgoGetHeuristic, handle, d.product, d.layout, d.layout, d.layout, d.layout, d.preference, 0,
         NULL, NULL);
    CALL(cublasLtMatmulAlgoCheck, handle, d.product, d.layout, d.layout, d.layout, d.layout, algorithm, results);
    CALL(cublasLtMatmul, handle, d.product, o.alpha, o.a, d.layout, o.b, d.layout, o.beta, o.c, d.layout, o.c,
         d.layout, algorithm, NULL, 0, NULL);
    CALL(cublasLtMatmul, handle, d.product, NULL, NULL, d.layout, NULL, d.layout, NULL, NULL, d.layout, NULL,
         d.layout, algorithm, o.a, sizeof o.a, NULL);
    CALL(cublasLtMatrixTransform, handle, NULL, o.alpha, o.a, d.layout, o.beta, o.b, d.layout, o.c, d.layout, NULL);
    for (int i = 0; i < 2 * order * order; ++i)
        if (o.c[i] != -1.0F) printf("c[%d] is %g\n", i, o.c[i]);
}

void call_lt_products(void) {
    cublasLtHandle_t handle = NULL;
    CALL(cublasLtCreate, &handle);
    printf("  %s\n", handle == NULL ? "no handle" : "a handle");
    CALL(cublasLtDestroy, NULL);

    struct Descriptors some = {0};
    CALL(cublasLtMatmulDescCreate, &some.product, CUBLAS_COMPUTE_32F, CUDA_R_32F);
    CALL(cublasLtMatrixLayoutCreate, &some.layout, CUDA_R_32F, order, order, order);
    CALL(cublasLtMatmulPreferenceCreate, &some.preference);

    cublasLtMatmulAlgo_t algorithm = {{0}};
    int ids[8] = {0}, found = -1;
    CALL(cublasLtMatmulAlgoGetIds, NULL, CUBLAS_COMPUTE_32F, CUDA_R_32F, CUDA_R_32F, CUDA_R_32F, CUDA_R_32F,
         CUDA_R_32F, 8, ids, &found);
    printf("  %d found, the first %d\n", found, ids[0]);
    CALL(cublasLtMatmulAlgoInit, NULL, CUBLAS_COMPUTE_32F, CUDA_R_32F, CUDA_R_32F, CUDA_R_32F, CUDA_R_32F, CUDA_R_32F,
         0, &algorithm);
    for (int i = 0; i < 8; ++i) printf("  %016llx\n", (unsigned long long)algorithm.data[i]);

    puts("no descriptor");  // no descriptor of the product: the heuristic and the check of 13.1 would crash
    struct Operands o = make_operands();
    CALL(cublasLtMatmul, NULL, NULL, o.alpha, o.a, some.layout, o.b, some.layout, o.beta, o.c, some.layout, o.c,
         some.layout, NULL, NULL, 0, NULL);
    puts("neither layouts nor a preference");
    call_with(NULL, (struct Descriptors){.product = some.product}, NULL);
    for (int compute_type = 64; compute_type < 80; ++compute_type) {
        cublasComputeType_t type = (cublasComputeType_t)compute_type;
        CALL(cublasLtMatmulDescSetAttribute, some.product, CUBLASLT_MATMUL_DESC_COMPUTE_TYPE, &type, sizeof type);
        printf("compute type %d\n", compute_type);
        call_with(NULL, some, NULL);
        call_with(NULL, some, &algorithm);
    }
    puts("attributes that nobody would set");
    for (int attribute = 1; attribute < 64; ++attribute)
        for (size_t size = 1; size <= 8; size *= 2) {
            const unsigned char value[8] = {16};
            __typeof__(&cublasLtMatmulDescSetAttribute) set =
                (__typeof__(&cublasLtMatmulDescSetAttribute))function_named("cublasLtMatmulDescSetAttribute");
            set(some.product, (cublasLtMatmulDescAttributes_t)attribute, value, size);
        }
    call_with(NULL, some, &algorithm);
    CALL(cublasLtMatmulPreferenceDestroy, some.preference);
    CALL(cublasLtMatrixLayoutDestroy, some.layout);
    CALL(cublasLtMatmulDescDestroy, some.product);
}
