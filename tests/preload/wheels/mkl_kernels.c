// MKL's other products, which the shim only reports: packed operands, kernels compiled at run time, bfloat16 operands
// and, built with MKL_DIRECT_CALL, calls that mkl.h turns into *_direct ones. Knows nothing of the shim. Prints like
// mkl_client.c.
#include <mkl.h>
#include <stdio.h>
#include <string.h>

enum { m = 17, n = 15, k = 16, ld = 18 };  // larger than the sizes that MKL_DIRECT_CALL inlines

static const MKL_INT rows = m, columns = n, depth = k, stride = ld;
static float A[2 * ld * ld], B[2 * ld * ld], C[2 * ld * ld];
static const float one = 1, half = 0.5f;
static const MKL_Complex8 complex_one = {1, 0}, complex_half = {0.5f, 0.25f};

static void prepare(void) {
    unsigned state = 1;
    float* const arrays[] = {A, B, C};
    for (int array = 0; array < 3; ++array)
        for (int i = 0; i < 2 * ld * ld; ++i) {
            state = state * 1664525u + 1013904223u;
            arrays[array][i] = (float)(state >> 8) / (1 << 23) - 1 + (i % (ld + 1) == 0 ? 8 : 0);
        }
}

static void report(const char* name) {
    printf("%s", name);
    for (int i = 0; i < 2 * ld * ld; ++i) printf(" %.9g", C[i]);
    printf("\n");
}

#ifdef MKL_DIRECT_CALL

static void direct(void) {
    const MKL_Complex8 *const a = (void*)A, *const b = (void*)B;
    MKL_Complex8* const c = (void*)C;
    prepare();
    sgemm("N", "T", &rows, &columns, &depth, &one, A, &stride, B, &stride, &half, C, &stride);
    report("sgemm_direct");
    prepare();
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, m, n, k, one, A, ld, B, ld, half, C, ld);
    report("sgemm_direct");
    prepare();
    cgemm("N", "C", &rows, &columns, &depth, &complex_one, a, &stride, b, &stride, &complex_half, c, &stride);
    report("cgemm_direct");
    prepare();
    cgemm3m("N", "C", &rows, &columns, &depth, &complex_one, a, &stride, b, &stride, &complex_half, c, &stride);
    report("cgemm3m_direct");
    prepare();
    ssyrk("L", "T", &columns, &depth, &one, A, &stride, &half, C, &stride);
    report("ssyrk_direct");
    prepare();
    csyrk("L", "T", &columns, &depth, &complex_one, a, &stride, &complex_half, c, &stride);
    report("csyrk_direct");
    prepare();
    strsm("L", "U", "N", "N", &rows, &columns, &one, A, &stride, C, &stride);
    report("strsm_direct");
    prepare();
    ctrsm("R", "L", "C", "N", &rows, &columns, &complex_one, a, &stride, c, &stride);
    report("ctrsm_direct");
}

int main(void) {
    direct();
    return 0;
}

#else

// Prints a line for each routine, although only the last of a pair computes a result.
static void packed(void) {
    float* const space = mkl_malloc(sgemm_pack_get_size("A", &rows, &columns, &depth), 64);
    prepare();
    sgemm_pack("A", "N", &rows, &columns, &depth, &one, A, &stride, space);
    report("sgemm_pack");
    sgemm_compute("P", "T", &rows, &columns, &depth, space, &stride, B, &stride, &half, C, &stride);
    report("sgemm_compute");
    mkl_free(space);
}

static void cblas_packed(void) {
    float* const space = mkl_malloc(cblas_sgemm_pack_get_size(CblasBMatrix, m, n, k), 64);
    prepare();
    cblas_sgemm_pack(CblasRowMajor, CblasBMatrix, CblasNoTrans, m, n, k, one, B, ld, space);
    report("cblas_sgemm_pack");
    cblas_sgemm_compute(CblasRowMajor, CblasNoTrans, CblasPacked, m, n, k, A, ld, space, ld, half, C, ld);
    report("cblas_sgemm_compute");
    mkl_free(space);
}

static void compiled_kernels(void) {
    void* kernel = NULL;
    prepare();
    mkl_cblas_jit_create_sgemm(&kernel, MKL_ROW_MAJOR, MKL_NOTRANS, MKL_TRANS, m, n, k, one, ld, ld, half, ld);
    mkl_jit_get_sgemm_ptr(kernel)(kernel, A, B, C);
    report("mkl_cblas_jit_create_sgemm");
    mkl_jit_destroy(kernel);
    prepare();
    mkl_cblas_jit_create_cgemm(&kernel, MKL_COL_MAJOR, MKL_NOTRANS, MKL_TRANS, m, n, k, &complex_one, ld, ld,
                               &complex_half, ld);
    mkl_jit_get_cgemm_ptr(kernel)(kernel, (void*)A, (void*)B, (void*)C);
    report("mkl_cblas_jit_create_cgemm");
    mkl_jit_destroy(kernel);
}

static MKL_BF16 bfloat16(float value) {
    unsigned bits;
    memcpy(&bits, &value, sizeof bits);
    return (MKL_BF16)(bits >> 16);
}

static void bfloat16_operands(void) {
    static MKL_BF16 a[ld * ld], b[ld * ld];
    prepare();
    for (int i = 0; i < ld * ld; ++i) a[i] = bfloat16(A[i]), b[i] = bfloat16(B[i]);
    cblas_gemm_bf16bf16f32(CblasRowMajor, CblasNoTrans, CblasNoTrans, m, n, k, one, a, ld, b, ld, half, C, ld);
    report("cblas_gemm_bf16bf16f32");
    extern __typeof__(gemm_bf16bf16f32) gemm_bf16bf16f32_;
    prepare();
    gemm_bf16bf16f32_("N", "T", &rows, &columns, &depth, &one, a, &stride, b, &stride, &half, C, &stride);
    report("gemm_bf16bf16f32_");
}

int main(void) {
    packed();
    cblas_packed();
    compiled_kernels();
    bfloat16_operands();
    return 0;
}

#endif
