// Calls the float32 and complex64 products of MKL, each under all of its names: bare, with an underscore, upper case,
// cblas_, and the index-64 forms of these. Knows nothing of the shim.
//
//     mkl_client [tf32]
//
// Prints a line per call: the name, then every element of the result's storage with nine digits, so that two runs
// with equal texts are bitwise equal. `tf32` rounds the operands of products (not of solves) first, to nearest, ties
// away from zero. Built with MKL_ILP64, the program passes 64-bit integers under all names.
#include <mkl.h>
#include <stdio.h>
#include <string.h>

enum { m = 7, n = 5, k = 6, ld = 8, batch = 3, element_floats = 2, matrix_floats = ld * ld * element_floats };

// Sizes, once for names whose integers have the interface layer's width and once for names with 64-bit integers.
// Index 0 is for single products; a pointer-array batch has two groups, index 0 and 1.
static struct {
    MKL_INT m[2], n[2], k[2], ld[2], stride, batch, groups, group_size[2];
} layered = {{m, 4}, {n, 3}, {k, 2}, {ld, ld}, matrix_floats / element_floats, batch, 2, {2, 1}};
static struct {
    MKL_INT64 m[2], n[2], k[2], ld[2], stride, batch, groups, group_size[2];
} wide = {{m, 4}, {n, 3}, {k, 2}, {ld, ld}, matrix_floats / element_floats, batch, 2, {2, 1}};

static float alpha[2] = {1.25f, 0.75f}, beta[2] = {0.5f, -0.5f};
static MKL_Complex8 complex_alpha[2] = {{1.25f, 0.5f}, {0.75f, 0}}, complex_beta[2] = {{0.5f, -0.25f}, {-0.5f, 0}};

// Three matrices for each operand, large enough for complex numbers. Real routines use a part of them.
static float storage[3][batch * matrix_floats];
static void *const A = storage[0], *const B = storage[1], *const C = storage[2];
static void *A_real[batch], *B_real[batch], *C_real[batch];
static int round_operands;

static float tf32(float value) {
    unsigned bits;
    memcpy(&bits, &value, sizeof bits);
    bits = (bits + 0x1000) & 0xffffe000;
    memcpy(&value, &bits, sizeof value);
    return value;
}

enum kind { product, real_in_place, complex_in_place, solve };

// Returns 1 for a float of the column-major m x n matrix that an in-place product overwrites.
static int is_overwritten(int i, int floats) {
    const int row = i / floats % ld, column = i / floats / ld;
    return row < m && column < n;
}

// Large diagonal elements keep triangular solves well conditioned.
static void prepare(enum kind kind) {
    unsigned state = 1;
    for (int matrix = 0; matrix < 3; ++matrix) {
        for (int i = 0; i < batch * matrix_floats; ++i) {
            state = state * 1664525u + 1013904223u;
            float value =
                (float)(state >> 8) / (1 << 23) - 1 + (i % (ld + 1) == 0 || i % (2 * (ld + 1)) == 0 ? 4 : 0);
            const int is_operand = matrix < 2 || (kind == real_in_place && is_overwritten(i, 1)) ||
                                   (kind == complex_in_place && is_overwritten(i, 2));
            storage[matrix][i] = round_operands && is_operand && kind != solve ? tf32(value) : value;
        }
    }
}

static void report(const char* name) {
    printf("%s", name);
    for (int i = 0; i < batch * matrix_floats; ++i) printf(" %.9g", storage[2][i]);
    printf("\n");
}

#define RUN(kind, name, ...) prepare(kind), name(__VA_ARGS__), report(#name);

// clang-format off
#define NAMES(x, X, kind, FORTRAN, CBLAS) { \
    extern __typeof__(x) x##_; \
    extern __typeof__(x##_64) x##_64_; \
    RUN(kind, x, FORTRAN(layered)) \
    RUN(kind, x##_, FORTRAN(layered)) \
    RUN(kind, X, FORTRAN(layered)) \
    RUN(kind, cblas_##x, CBLAS(layered)) \
    RUN(kind, x##_64, FORTRAN(wide)) \
    RUN(kind, x##_64_, FORTRAN(wide)) \
    RUN(kind, X##_64, FORTRAN(wide)) \
    RUN(kind, cblas_##x##_64, CBLAS(wide)) }
// clang-format on

// Options of the two groups of a batch.
static CBLAS_TRANSPOSE transposed[2] = {CblasTrans, CblasNoTrans}, plain[2] = {CblasNoTrans, CblasTrans};
static CBLAS_UPLO uplo[2] = {CblasUpper, CblasLower};
static CBLAS_SIDE side[2] = {CblasLeft, CblasRight};
static CBLAS_DIAG diag[2] = {CblasNonUnit, CblasUnit};

// Argument lists. W is `layered` or `wide`.
// clang-format off
#define GEMM(W)          "T", "N", W.m, W.n, W.k, alpha, A, W.ld, B, W.ld, beta, C, W.ld
#define CBLAS_GEMM_(W)   CblasRowMajor, CblasTrans, CblasNoTrans, *W.m, *W.n, *W.k, *alpha, A, *W.ld, B, *W.ld, *beta, C, *W.ld
#define GEMM_C(W)        "C", "T", W.m, W.n, W.k, complex_alpha, A, W.ld, B, W.ld, complex_beta, C, W.ld
#define CBLAS_GEMM_C(W)  CblasColMajor, CblasConjTrans, CblasTrans, *W.m, *W.n, *W.k, complex_alpha, A, *W.ld, B, *W.ld, complex_beta, C, *W.ld
#define GEMMT(W)         "U", "N", "T", W.n, W.k, alpha, A, W.ld, B, W.ld, beta, C, W.ld
#define CBLAS_GEMMT_(W)  CblasRowMajor, CblasUpper, CblasNoTrans, CblasTrans, *W.n, *W.k, *alpha, A, *W.ld, B, *W.ld, *beta, C, *W.ld
#define GEMMT_C(W)       "L", "N", "C", W.n, W.k, complex_alpha, A, W.ld, B, W.ld, complex_beta, C, W.ld
#define CBLAS_GEMMT_C(W) CblasColMajor, CblasLower, CblasNoTrans, CblasConjTrans, *W.n, *W.k, complex_alpha, A, *W.ld, B, *W.ld, complex_beta, C, *W.ld
#define SYMM(W)          "L", "U", W.m, W.n, alpha, A, W.ld, B, W.ld, beta, C, W.ld
#define CBLAS_SYMM_(W)   CblasColMajor, CblasRight, CblasLower, *W.m, *W.n, *alpha, A, *W.ld, B, *W.ld, *beta, C, *W.ld
#define SYMM_C(W)        "R", "U", W.m, W.n, complex_alpha, A, W.ld, B, W.ld, complex_beta, C, W.ld
#define CBLAS_SYMM_C(W)  CblasRowMajor, CblasLeft, CblasLower, *W.m, *W.n, complex_alpha, A, *W.ld, B, *W.ld, complex_beta, C, *W.ld
#define SYRK(W)          "L", "N", W.n, W.k, alpha, A, W.ld, beta, C, W.ld
#define CBLAS_SYRK_(W)   CblasRowMajor, CblasUpper, CblasTrans, *W.n, *W.k, *alpha, A, *W.ld, *beta, C, *W.ld
#define SYRK_C(W)        "L", "T", W.n, W.k, complex_alpha, A, W.ld, complex_beta, C, W.ld
#define CBLAS_SYRK_C(W)  CblasRowMajor, CblasUpper, CblasNoTrans, *W.n, *W.k, complex_alpha, A, *W.ld, complex_beta, C, *W.ld
#define HERK(W)          "L", "C", W.n, W.k, alpha, A, W.ld, beta, C, W.ld
#define CBLAS_HERK_(W)   CblasRowMajor, CblasUpper, CblasNoTrans, *W.n, *W.k, *alpha, A, *W.ld, *beta, C, *W.ld
#define SYR2K(W)         "U", "T", W.n, W.k, alpha, A, W.ld, B, W.ld, beta, C, W.ld
#define CBLAS_SYR2K_(W)  CblasRowMajor, CblasLower, CblasNoTrans, *W.n, *W.k, *alpha, A, *W.ld, B, *W.ld, *beta, C, *W.ld
#define SYR2K_C(W)       "U", "N", W.n, W.k, complex_alpha, A, W.ld, B, W.ld, complex_beta, C, W.ld
#define CBLAS_SYR2K_C(W) CblasRowMajor, CblasLower, CblasTrans, *W.n, *W.k, complex_alpha, A, *W.ld, B, *W.ld, complex_beta, C, *W.ld
#define HER2K(W)         "U", "N", W.n, W.k, complex_alpha, A, W.ld, B, W.ld, beta, C, W.ld
#define CBLAS_HER2K_(W)  CblasRowMajor, CblasLower, CblasConjTrans, *W.n, *W.k, complex_alpha, A, *W.ld, B, *W.ld, *beta, C, *W.ld
#define TRMM(W)          "L", "U", "T", "N", W.m, W.n, alpha, A, W.ld, C, W.ld
#define CBLAS_TRMM_(W)   CblasColMajor, CblasRight, CblasLower, CblasNoTrans, CblasNonUnit, *W.m, *W.n, *alpha, A, *W.ld, C, *W.ld
#define TRMM_C(W)        "R", "L", "C", "N", W.m, W.n, complex_alpha, A, W.ld, C, W.ld
#define CBLAS_TRMM_C(W)  CblasColMajor, CblasLeft, CblasUpper, CblasTrans, CblasNonUnit, *W.m, *W.n, complex_alpha, A, *W.ld, C, *W.ld
#define OOP(W)           "L", "U", "T", "N", W.m, W.n, alpha, A, W.ld, B, W.ld, beta, C, W.ld
#define CBLAS_OOP_(W)    CblasColMajor, CblasRight, CblasLower, CblasNoTrans, CblasNonUnit, *W.m, *W.n, *alpha, A, *W.ld, B, *W.ld, *beta, C, *W.ld
#define OOP_C(W)         "R", "L", "C", "N", W.m, W.n, complex_alpha, A, W.ld, B, W.ld, complex_beta, C, W.ld
#define CBLAS_OOP_C(W)   CblasColMajor, CblasLeft, CblasUpper, CblasTrans, CblasNonUnit, *W.m, *W.n, complex_alpha, A, *W.ld, B, *W.ld, complex_beta, C, *W.ld
#define PA (void*)A_real
#define PB (void*)B_real
#define PC (void*)C_real
#define GROUPS(W)        &W.groups, W.group_size
#define CBLAS_GROUPS(W)  W.groups, W.group_size
#define GEMM_BATCH_(W)         "TN", "NT", W.m, W.n, W.k, alpha, PA, W.ld, PB, W.ld, beta, PC, W.ld, GROUPS(W)
#define CBLAS_GEMM_BATCH_(W)   CblasColMajor, transposed, plain, W.m, W.n, W.k, alpha, PA, W.ld, PB, W.ld, beta, PC, W.ld, CBLAS_GROUPS(W)
#define GEMM_BATCH_C(W)        "CN", "NT", W.m, W.n, W.k, complex_alpha, PA, W.ld, PB, W.ld, complex_beta, PC, W.ld, GROUPS(W)
#define CBLAS_GEMM_BATCH_C(W)  CblasRowMajor, transposed, plain, W.m, W.n, W.k, complex_alpha, PA, W.ld, PB, W.ld, complex_beta, PC, W.ld, CBLAS_GROUPS(W)
#define SYRK_BATCH_(W)         "UL", "TN", W.n, W.k, alpha, PA, W.ld, beta, PC, W.ld, GROUPS(W)
#define CBLAS_SYRK_BATCH_(W)   CblasRowMajor, uplo, transposed, W.n, W.k, alpha, PA, W.ld, beta, PC, W.ld, CBLAS_GROUPS(W)
#define SYRK_BATCH_C(W)        "UL", "TN", W.n, W.k, complex_alpha, PA, W.ld, complex_beta, PC, W.ld, GROUPS(W)
#define CBLAS_SYRK_BATCH_C(W)  CblasRowMajor, uplo, transposed, W.n, W.k, complex_alpha, PA, W.ld, complex_beta, PC, W.ld, CBLAS_GROUPS(W)
#define TRSM_BATCH_(W)         "LR", "UL", "TN", "NU", W.m, W.n, alpha, PA, W.ld, PC, W.ld, GROUPS(W)
#define CBLAS_TRSM_BATCH_(W)   CblasColMajor, side, uplo, transposed, diag, W.m, W.n, alpha, PA, W.ld, PC, W.ld, CBLAS_GROUPS(W)
#define TRSM_BATCH_C(W)        "LR", "UL", "TN", "NU", W.m, W.n, complex_alpha, PA, W.ld, PC, W.ld, GROUPS(W)
#define CBLAS_TRSM_BATCH_C(W)  CblasColMajor, side, uplo, transposed, diag, W.m, W.n, complex_alpha, PA, W.ld, PC, W.ld, CBLAS_GROUPS(W)
#define GEMM_STRIDED(W)         "T", "N", W.m, W.n, W.k, alpha, A, W.ld, &W.stride, B, W.ld, &W.stride, beta, C, W.ld, &W.stride, &W.batch
#define CBLAS_GEMM_STRIDED(W)   CblasRowMajor, CblasTrans, CblasNoTrans, *W.m, *W.n, *W.k, *alpha, A, *W.ld, W.stride, B, *W.ld, W.stride, *beta, C, *W.ld, W.stride, W.batch
#define GEMM_STRIDED_C(W)       "C", "N", W.m, W.n, W.k, complex_alpha, A, W.ld, &W.stride, B, W.ld, &W.stride, complex_beta, C, W.ld, &W.stride, &W.batch
#define CBLAS_GEMM_STRIDED_C(W) CblasColMajor, CblasTrans, CblasNoTrans, *W.m, *W.n, *W.k, complex_alpha, A, *W.ld, W.stride, B, *W.ld, W.stride, complex_beta, C, *W.ld, W.stride, W.batch
#define SYRK_STRIDED(W)         "U", "T", W.n, W.k, alpha, A, W.ld, &W.stride, beta, C, W.ld, &W.stride, &W.batch
#define CBLAS_SYRK_STRIDED(W)   CblasRowMajor, CblasLower, CblasNoTrans, *W.n, *W.k, *alpha, A, *W.ld, W.stride, *beta, C, *W.ld, W.stride, W.batch
#define SYRK_STRIDED_C(W)       "U", "T", W.n, W.k, complex_alpha, A, W.ld, &W.stride, complex_beta, C, W.ld, &W.stride, &W.batch
#define CBLAS_SYRK_STRIDED_C(W) CblasRowMajor, CblasLower, CblasNoTrans, *W.n, *W.k, complex_alpha, A, *W.ld, W.stride, complex_beta, C, *W.ld, W.stride, W.batch
#define TRSM_STRIDED(W)         "L", "U", "T", "N", W.m, W.n, alpha, A, W.ld, &W.stride, C, W.ld, &W.stride, &W.batch
#define CBLAS_TRSM_STRIDED(W)   CblasColMajor, CblasRight, CblasLower, CblasNoTrans, CblasNonUnit, *W.m, *W.n, *alpha, A, *W.ld, W.stride, C, *W.ld, W.stride, W.batch
#define TRSM_STRIDED_C(W)       "L", "U", "T", "N", W.m, W.n, complex_alpha, A, W.ld, &W.stride, C, W.ld, &W.stride, &W.batch
#define CBLAS_TRSM_STRIDED_C(W) CblasColMajor, CblasRight, CblasLower, CblasNoTrans, CblasNonUnit, *W.m, *W.n, complex_alpha, A, *W.ld, W.stride, C, *W.ld, W.stride, W.batch
// clang-format on

// clang-format off
static void single_products(void) {
    NAMES(sgemm, SGEMM, product, GEMM, CBLAS_GEMM_)
    NAMES(cgemm, CGEMM, product, GEMM_C, CBLAS_GEMM_C)
    NAMES(cgemm3m, CGEMM3M, product, GEMM_C, CBLAS_GEMM_C)
    NAMES(sgemmt, SGEMMT, product, GEMMT, CBLAS_GEMMT_)
    NAMES(cgemmt, CGEMMT, product, GEMMT_C, CBLAS_GEMMT_C)
    NAMES(sgemmtr, SGEMMTR, product, GEMMT, CBLAS_GEMMT_)
    NAMES(cgemmtr, CGEMMTR, product, GEMMT_C, CBLAS_GEMMT_C)
    NAMES(ssymm, SSYMM, product, SYMM, CBLAS_SYMM_)
    NAMES(csymm, CSYMM, product, SYMM_C, CBLAS_SYMM_C)
    NAMES(chemm, CHEMM, product, SYMM_C, CBLAS_SYMM_C)
    NAMES(ssyrk, SSYRK, product, SYRK, CBLAS_SYRK_)
    NAMES(csyrk, CSYRK, product, SYRK_C, CBLAS_SYRK_C)
    NAMES(cherk, CHERK, product, HERK, CBLAS_HERK_)
    NAMES(ssyr2k, SSYR2K, product, SYR2K, CBLAS_SYR2K_)
    NAMES(csyr2k, CSYR2K, product, SYR2K_C, CBLAS_SYR2K_C)
    NAMES(cher2k, CHER2K, product, HER2K, CBLAS_HER2K_)
    NAMES(strmm, STRMM, real_in_place, TRMM, CBLAS_TRMM_)
    NAMES(ctrmm, CTRMM, complex_in_place, TRMM_C, CBLAS_TRMM_C)
    NAMES(strsm, STRSM, solve, TRMM, CBLAS_TRMM_)
    NAMES(ctrsm, CTRSM, solve, TRMM_C, CBLAS_TRMM_C)
    NAMES(strmm_oop, STRMM_OOP, product, OOP, CBLAS_OOP_)
    NAMES(ctrmm_oop, CTRMM_OOP, product, OOP_C, CBLAS_OOP_C)
    NAMES(strsm_oop, STRSM_OOP, solve, OOP, CBLAS_OOP_)
    NAMES(ctrsm_oop, CTRSM_OOP, solve, OOP_C, CBLAS_OOP_C)
}
// clang-format on

static void point_at(int floats) {
    for (int i = 0; i < batch; ++i) {
        A_real[i] = storage[0] + i * floats;
        B_real[i] = storage[1] + i * floats;
        C_real[i] = storage[2] + i * floats;
    }
}

// clang-format off
static void batches(void) {
    point_at(ld * ld);
    NAMES(sgemm_batch, SGEMM_BATCH, product, GEMM_BATCH_, CBLAS_GEMM_BATCH_)
    NAMES(ssyrk_batch, SSYRK_BATCH, product, SYRK_BATCH_, CBLAS_SYRK_BATCH_)
    NAMES(strsm_batch, STRSM_BATCH, solve, TRSM_BATCH_, CBLAS_TRSM_BATCH_)
    point_at(matrix_floats);
    NAMES(cgemm_batch, CGEMM_BATCH, product, GEMM_BATCH_C, CBLAS_GEMM_BATCH_C)
    NAMES(cgemm3m_batch, CGEMM3M_BATCH, product, GEMM_BATCH_C, CBLAS_GEMM_BATCH_C)
    NAMES(csyrk_batch, CSYRK_BATCH, product, SYRK_BATCH_C, CBLAS_SYRK_BATCH_C)
    NAMES(ctrsm_batch, CTRSM_BATCH, solve, TRSM_BATCH_C, CBLAS_TRSM_BATCH_C)
    NAMES(sgemm_batch_strided, SGEMM_BATCH_STRIDED, product, GEMM_STRIDED, CBLAS_GEMM_STRIDED)
    NAMES(cgemm_batch_strided, CGEMM_BATCH_STRIDED, product, GEMM_STRIDED_C, CBLAS_GEMM_STRIDED_C)
    NAMES(cgemm3m_batch_strided, CGEMM3M_BATCH_STRIDED, product, GEMM_STRIDED_C, CBLAS_GEMM_STRIDED_C)
    NAMES(ssyrk_batch_strided, SSYRK_BATCH_STRIDED, product, SYRK_STRIDED, CBLAS_SYRK_STRIDED)
    NAMES(csyrk_batch_strided, CSYRK_BATCH_STRIDED, product, SYRK_STRIDED_C, CBLAS_SYRK_STRIDED_C)
    NAMES(strsm_batch_strided, STRSM_BATCH_STRIDED, solve, TRSM_STRIDED, CBLAS_TRSM_STRIDED)
    NAMES(ctrsm_batch_strided, CTRSM_BATCH_STRIDED, solve, TRSM_STRIDED_C, CBLAS_TRSM_STRIDED_C)
}
// clang-format on

int main(int argc, char** argv) {
    round_operands = argc > 1 && strcmp(argv[1], "tf32") == 0;
    single_products();
    batches();
    return 0;
}
