// Code that all clients share: prototypes, operands that are the same on every machine, printing of results bit by
// bit, and rounding. So a test can compare "rounded by the shim" with "rounded here, multiplied directly".
#pragma once

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifdef ILP64
typedef int64_t blas_int;
#else
typedef int blas_int;
#endif

enum { row_major = 101, column_major = 102, no_trans = 111, trans = 112, conj_trans = 113 };
enum { upper = 121, lower = 122, non_unit = 131, unit = 132, left = 141, right = 142 };

void sgemm_(const char* trans_a, const char* trans_b, const blas_int* m, const blas_int* n, const blas_int* k,
            const float* alpha, const float* a, const blas_int* lda, const float* b, const blas_int* ldb,
            const float* beta, float* c, const blas_int* ldc);
void cblas_sgemm(int layout, int trans_a, int trans_b, blas_int m, blas_int n, blas_int k, float alpha,
                 const float* a, blas_int lda, const float* b, blas_int ldb, float beta, float* c, blas_int ldc);

typedef void cblas_sgemm_function(int layout, int trans_a, int trans_b, blas_int m, blas_int n, blas_int k,
                                  float alpha, const float* a, blas_int lda, const float* b, blas_int ldb, float beta,
                                  float* c, blas_int ldc);
typedef void sgemm_function(const char* trans_a, const char* trans_b, const blas_int* m, const blas_int* n,
                            const blas_int* k, const float* alpha, const float* a, const blas_int* lda,
                            const float* b, const blas_int* ldb, const float* beta, float* c, const blas_int* ldc);

/// Fills with values in [-1, 1) that use all 24 bits of a float's significand.
static inline void fill(float* x, size_t count, uint32_t seed) {
    for (size_t i = 0; i < count; ++i) {
        seed = seed * 1664525U + 1013904223U;
        x[i] = (float)((int32_t)(seed >> 8) - (1 << 23)) / (float)(1 << 23);
    }
}

/// Prints the label and the bits of every value. Two runs print the same only if they computed the same.
static inline void print_bits(const char* label, const float* x, size_t count) {
    printf("%s", label);
    for (size_t i = 0; i < count; ++i) {
        uint32_t bits;
        memcpy(&bits, &x[i], sizeof bits);
        printf(" %08x", (unsigned)bits);
    }
    printf("\n");
}

/// Rounds in place to TF32 (10 explicit bits, to nearest, ties away from zero) or BF16 (7, ties to even).
static inline void round_to(const char* format, float* x, size_t count) {
    if (strcmp(format, "fp32") == 0) return;
    const int is_tf32 = strcmp(format, "tf32") == 0;
    for (size_t i = 0; i < count; ++i) {
        uint32_t bits;
        memcpy(&bits, &x[i], sizeof bits);
        if ((bits & 0x7f800000U) == 0x7f800000U) continue;  // NaN and infinities stay unchanged
        if (is_tf32) {
            bits = (bits + 0x1000U) & ~0x1fffU;
        } else {
            bits = (bits + 0x7fffU + ((bits >> 16) & 1U)) & ~0xffffU;
        }
        memcpy(&x[i], &bits, sizeof bits);
    }
}

#ifdef __cplusplus
}
#endif
