// Makes many small products of many kinds, in a fixed order that looks random. A recording has to keep the kinds
// apart, although most calls are counted on the quick path. Prints one line for each kind:
//
//     FUNCTION M N K TRANS_A TRANS_B VALID SCOPE COUNT
//
//   mixed_products CALLS [invalid|scopes]     invalid: also calls whose leading dimension is too small
//                                             scopes: in scopes of the C API that have a label, or - for none
//
// ONLY_SGEMM: for a library that has no other products.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>

#include "../../preload/clients/client.h"

void cgemm_(const char* trans_a, const char* trans_b, const blas_int* m, const blas_int* n, const blas_int* k,
            const float* alpha, const float* a, const blas_int* lda, const float* b, const blas_int* ldb,
            const float* beta, float* c, const blas_int* ldc);
void ssyrk_(const char* uplo, const char* trans_a, const blas_int* n, const blas_int* k, const float* alpha,
            const float* a, const blas_int* lda, const float* beta, float* c, const blas_int* ldc);
void cblas_strsm(int layout, int side, int uplo, int trans_a, int diag, blas_int m, blas_int n, float alpha,
                 const float* a, blas_int lda, float* b, blas_int ldb);

#ifdef ONLY_SGEMM
enum { sizes = 3, kinds = 2 };
#else
enum { sizes = 3, kinds = 5 };
#endif
enum { scope_count = 4 };
static const char* const scope_names[scope_count] = {"-", "encoder", "encoder/attention", "decoder"};
static const blas_int size_of[sizes] = {2, 5, 8};
static const char letters[] = "NT";
static float a[512], b[512], c[512];
static unsigned long counts[scope_count][kinds][sizes][sizes][2][2][2];

static uint32_t random_below(uint32_t limit) {
    static uint32_t state = 12345;
    state = state * 1664525U + 1013904223U;
    return (uint32_t)(((uint64_t)state * limit) >> 32);
}

static void multiply(int kind, blas_int m, blas_int n, int ta, int tb, blas_int ld) {
    const float one[2] = {1, 0}, zero[2] = {0, 0};
    switch (kind) {
        case 0:
            sgemm_(&letters[ta], &letters[tb], &m, &n, &m, one, a, &ld, b, &ld, zero, c, &ld);
            break;
        case 1:
            cblas_sgemm(column_major, ta ? trans : no_trans, tb ? trans : no_trans, m, n, m, 1, a, ld, b, ld, 0, c,
                        ld);
            break;
#ifndef ONLY_SGEMM
        case 2:
            cgemm_(&letters[ta], &letters[tb], &m, &n, &m, one, a, &ld, b, &ld, zero, c, &ld);
            break;
        case 3:
            ssyrk_("U", &letters[ta], &n, &m, one, a, &ld, zero, c, &ld);
            break;
        default:
            cblas_strsm(column_major, left, upper, ta ? trans : no_trans, unit, m, n, 1, a, ld, b, ld);
#endif
    }
}

/// Leaves the previous scope, and enters this one.
static void enter_scope(int scope) {
    static int (*push)(const char*, const char*, const char*);
    static int (*pop)(void);
    static int current;
    if (push == NULL) {
        push = (int (*)(const char*, const char*, const char*))(uintptr_t)dlsym(RTLD_DEFAULT, "fp32shim_push_scope");
        pop = (int (*)(void))(uintptr_t)dlsym(RTLD_DEFAULT, "fp32shim_pop_scope");
    }
    if (current == 2) pop();
    if (current != 0) pop();
    if (scope != 0) push(scope == 3 ? "decoder" : "encoder", NULL, NULL);
    if (scope == 2) push("attention", NULL, NULL);
    current = scope;
}

int main(int argc, char** argv) {
    const long calls = argc > 1 ? atol(argv[1]) : 10000;
    const int with_invalid = argc > 2 && strcmp(argv[2], "invalid") == 0;
    const int with_scopes = argc > 2 && strcmp(argv[2], "scopes") == 0;
    int scope = 0;
    static const char* names[kinds] = {"sgemm_", "cblas_sgemm", "cgemm_", "ssyrk_", "cblas_strsm"};
    for (long i = 0; i < calls; ++i) {
        const int kind = (int)random_below(kinds), ta = (int)random_below(2);
        const int tb = kind < 3 ? (int)random_below(2) : 0;
        const int m = (int)random_below(sizes), n = (int)random_below(sizes);
        const int valid = !with_invalid || kind != 0 || random_below(4) != 0;
        if (with_scopes && i >= calls / 4 && random_below(3) == 0)
            enter_scope(scope = (int)random_below(scope_count));
        fill(a, 512, (uint32_t)i);
        fill(b, 512, (uint32_t)i + 1);
        multiply(kind, size_of[m], size_of[n], ta, tb, valid ? 8 : 1);
        ++counts[scope][kind][m][n][ta][tb][valid];
    }
    for (int number = 0; number < scope_count; ++number)
        for (int kind = 0; kind < kinds; ++kind)
            for (int m = 0; m < sizes; ++m)
                for (int n = 0; n < sizes; ++n)
                    for (int ta = 0; ta < 2; ++ta)
                        for (int tb = 0; tb < 2; ++tb)
                            for (int valid = 0; valid < 2; ++valid) {
                                const unsigned long count = counts[number][kind][m][n][ta][tb][valid];
                                const int rows = kind == 3 ? n : m;  // syrk's C is n x n
                                if (count > 0)
                                    printf("%s %d %d %d %c %c %d %s %lu\n", names[kind], (int)size_of[rows],
                                           (int)size_of[n], (int)size_of[m], letters[ta],
                                           kind < 3 ? letters[tb] : '-', valid, scope_names[number], count);
                            }
    return 0;
}
