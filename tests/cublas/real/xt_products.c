// Products of cublasXt, without a handle. cublasXt spreads one product over several devices.
#include "client.h"
#include "operands.h"

#include <cublasXt.h>

#define REAL_AND_COMPLEX(routine, ...)     \
    CALL(cublasXtS##routine, __VA_ARGS__); \
    CALL(cublasXtC##routine, __VA_ARGS__)

void call_xt_products(void) {
    struct Operands o = make_operands();
    void *alpha = o.alpha, *beta = o.beta, *a = o.a, *b = o.b, *c = o.c;
    const size_t n = order;
    REAL_AND_COMPLEX(gemm, NULL, CUBLAS_OP_N, CUBLAS_OP_T, n, n, n, alpha, a, n, b, n, beta, c, n);
    REAL_AND_COMPLEX(symm, NULL, CUBLAS_SIDE_LEFT, CUBLAS_FILL_MODE_UPPER, n, n, alpha, a, n, b, n, beta, c, n);
    CALL(cublasXtChemm, NULL, CUBLAS_SIDE_LEFT, CUBLAS_FILL_MODE_UPPER, n, n, alpha, a, n, b, n, beta, c, n);
    REAL_AND_COMPLEX(syrk, NULL, CUBLAS_FILL_MODE_UPPER, CUBLAS_OP_N, n, n, alpha, a, n, beta, c, n);
    CALL(cublasXtCherk, NULL, CUBLAS_FILL_MODE_UPPER, CUBLAS_OP_N, n, n, alpha, a, n, beta, c, n);
    REAL_AND_COMPLEX(syr2k, NULL, CUBLAS_FILL_MODE_UPPER, CUBLAS_OP_N, n, n, alpha, a, n, b, n, beta, c, n);
    REAL_AND_COMPLEX(syrkx, NULL, CUBLAS_FILL_MODE_UPPER, CUBLAS_OP_N, n, n, alpha, a, n, b, n, beta, c, n);
    CALL(cublasXtCher2k, NULL, CUBLAS_FILL_MODE_UPPER, CUBLAS_OP_N, n, n, alpha, a, n, b, n, beta, c, n);
    CALL(cublasXtCherkx, NULL, CUBLAS_FILL_MODE_UPPER, CUBLAS_OP_N, n, n, alpha, a, n, b, n, beta, c, n);
    REAL_AND_COMPLEX(trmm, NULL, CUBLAS_SIDE_LEFT, CUBLAS_FILL_MODE_UPPER, CUBLAS_OP_N, CUBLAS_DIAG_UNIT, n, n, alpha,
                     a, n, b, n, c, n);
    REAL_AND_COMPLEX(trsm, NULL, CUBLAS_SIDE_LEFT, CUBLAS_FILL_MODE_UPPER, CUBLAS_OP_N, CUBLAS_DIAG_UNIT, n, n, alpha,
                     a, n, b, n);
}
