// Products from before version 2 of the interface, which use a global handle: cublasInit() would make one. Their
// status comes from cublasGetError().
#include "client.h"
#include "operands.h"

#include <cublas.h>

static int last_status(void) {
    __typeof__(&cublasGetError) get_error = (__typeof__(&cublasGetError))function_named("cublasGetError");
    return (int)get_error();
}

#ifdef LINKED
#define CALL_LEGACY(name, ...) (name(__VA_ARGS__), report(#name, last_status()))
#else
#define CALL_LEGACY(name, ...) (((__typeof__(&name))function_named(#name))(__VA_ARGS__), report(#name, last_status()))
#endif

void call_legacy_products(void) {
    struct Operands o = make_operands();
    const int n = order;
    float *a = o.a, *b = o.b, *c = o.c;
    cuComplex *ca = (cuComplex*)a, *cb = (cuComplex*)b, *cc = (cuComplex*)c, alpha = {1, 0}, beta = {0, 0};
    CALL_LEGACY(cublasSgemm, 'n', 't', n, n, n, 1, a, n, b, n, 0, c, n);
    CALL_LEGACY(cublasCgemm, 'n', 't', n, n, n, alpha, ca, n, cb, n, beta, cc, n);
    CALL_LEGACY(cublasSsymm, 'l', 'u', n, n, 1, a, n, b, n, 0, c, n);
    CALL_LEGACY(cublasCsymm, 'l', 'u', n, n, alpha, ca, n, cb, n, beta, cc, n);
    CALL_LEGACY(cublasChemm, 'l', 'u', n, n, alpha, ca, n, cb, n, beta, cc, n);
    CALL_LEGACY(cublasSsyrk, 'u', 'n', n, n, 1, a, n, 0, c, n);
    CALL_LEGACY(cublasCsyrk, 'u', 'n', n, n, alpha, ca, n, beta, cc, n);
    CALL_LEGACY(cublasCherk, 'u', 'n', n, n, 1, ca, n, 0, cc, n);
    CALL_LEGACY(cublasSsyr2k, 'u', 'n', n, n, 1, a, n, b, n, 0, c, n);
    CALL_LEGACY(cublasCsyr2k, 'u', 'n', n, n, alpha, ca, n, cb, n, beta, cc, n);
    CALL_LEGACY(cublasCher2k, 'u', 'n', n, n, alpha, ca, n, cb, n, 0, cc, n);
    CALL_LEGACY(cublasStrmm, 'l', 'u', 'n', 'u', n, n, 1, a, n, b, n);
    CALL_LEGACY(cublasCtrmm, 'l', 'u', 'n', 'u', n, n, alpha, ca, n, cb, n);
    CALL_LEGACY(cublasStrsm, 'l', 'u', 'n', 'u', n, n, 1, a, n, b, n);
    CALL_LEGACY(cublasCtrsm, 'l', 'u', 'n', 'u', n, n, alpha, ca, n, cb, n);
}
