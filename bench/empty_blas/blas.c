// A BLAS whose product does nothing, so that only the shim's cost remains to be measured.

// The shim calls this routine to find the width of a library's integers.
int isamax_(const int* n, const float* x, const int* increment) {
    (void)x;
    (void)increment;
    return *n < 1 ? 0 : 1;
}

void sgemm_(const char* trans_a, const char* trans_b, const int* m, const int* n, const int* k, const float* alpha,
            const float* a, const int* lda, const float* b, const int* ldb, const float* beta, float* c,
            const int* ldc) {
    (void)trans_a, (void)trans_b, (void)m, (void)n, (void)k, (void)alpha, (void)a, (void)lda, (void)b, (void)ldb;
    (void)beta, (void)c, (void)ldc;
}

/// sgemm_ under a name that the shim does not intercept.
void not_intercepted(const char* trans_a, const char* trans_b, const int* m, const int* n, const int* k,
                     const float* alpha, const float* a, const int* lda, const float* b, const int* ldb,
                     const float* beta, float* c, const int* ldc) {
    (void)trans_a, (void)trans_b, (void)m, (void)n, (void)k, (void)alpha, (void)a, (void)lda, (void)b, (void)ldb;
    (void)beta, (void)c, (void)ldc;
}
