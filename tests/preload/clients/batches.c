// Makes batches of products. Built once with a library that has batch functions (fake_blas.c), and once with weak
// references and a BLAS that has none. Without batch functions the program multiplies one by one.
//
//   batches [FORMAT]    rounds the operands to FORMAT (fp32, tf32, bf16) first
//   batches invalid     makes a batch with an invalid option, and says whether it was computed

#include "client.h"

#ifdef WEAK_REFERENCES
#define REFERENCE __attribute__((weak)) void
#else
#define REFERENCE void
#endif

REFERENCE cblas_sgemm_batch(int layout, const int* trans_a, const int* trans_b, const blas_int* m, const blas_int* n,
                            const blas_int* k, const float* alpha, const float** a, const blas_int* lda,
                            const float** b, const blas_int* ldb, const float* beta, float** c, const blas_int* ldc,
                            blas_int group_count, const blas_int* group_size);
REFERENCE sgemm_batch_(const char* trans_a, const char* trans_b, const blas_int* m, const blas_int* n,
                       const blas_int* k, const float* alpha, const float** a, const blas_int* lda, const float** b,
                       const blas_int* ldb, const float* beta, float** c, const blas_int* ldc,
                       const blas_int* group_count, const blas_int* group_size);
REFERENCE cblas_sgemm_batch_strided(int layout, int trans_a, int trans_b, blas_int m, blas_int n, blas_int k,
                                    float alpha, const float* a, blas_int lda, blas_int stride_a, const float* b,
                                    blas_int ldb, blas_int stride_b, float beta, float* c, blas_int ldc,
                                    blas_int stride_c, blas_int batch_count);
REFERENCE sgemm_batch_strided_(const char* trans_a, const char* trans_b, const blas_int* m, const blas_int* n,
                               const blas_int* k, const float* alpha, const float* a, const blas_int* lda,
                               const blas_int* stride_a, const float* b, const blas_int* ldb,
                               const blas_int* stride_b, const float* beta, float* c, const blas_int* ldc,
                               const blas_int* stride_c, const blas_int* batch_count);

enum { m = 5, n = 6, k = 7, count = 3, stride_a = m * k + 4, stride_b = k * n + 5, stride_c = m * n + 6 };
static float a[count * stride_a], b[count * stride_b], c[count * stride_c];

static void make_operands(const char* format) {
    fill(a, count * stride_a, 1);
    fill(b, count * stride_b, 2);
    fill(c, count * stride_c, 3);
    round_to(format, a, count * stride_a);
    round_to(format, b, count * stride_b);
}

int main(int argc, char** argv) {
    const char* format = argc > 1 ? argv[1] : "fp32";
    // Two groups of the same sizes: the first has two products and one alpha, the second one product and another
    // alpha.
    const int no[2] = {no_trans, no_trans};
    const blas_int ms[2] = {m, m}, ns[2] = {n, n}, ks[2] = {k, k}, sizes[2] = {2, 1}, groups = 2;
    const float alphas[2] = {0.75F, 1.5F}, betas[2] = {0.5F, 0};
    const blas_int one_m = m, one_n = n, one_k = k, sa = stride_a, sb = stride_b, sc = stride_c, products = count;
    const float *as[count], *bs[count];
    float* cs[count];
    for (int i = 0; i < count; ++i) {
        as[i] = a + i * stride_a;
        bs[i] = b + i * stride_b;
        cs[i] = c + i * stride_c;
    }

    if (strcmp(format, "invalid") == 0) {
        const int wrong = 99;
        const blas_int one = 1;
        c[0] = 1.0F;
        cblas_sgemm_batch(column_major, &wrong, no, ms, ns, ks, alphas, as, ms, bs, ks, betas, cs, ms, one, &one);
        puts(c[0] == 1.0F ? "refused" : "computed");
        return 0;
    }
    make_operands(format);
#ifdef WEAK_REFERENCES
    if (!cblas_sgemm_batch) {
        for (int round = 0; round < 2; ++round) {
            make_operands(format);
            for (int i = 0; i < count; ++i)
                cblas_sgemm(column_major, no_trans, no_trans, m, n, k, alphas[i / 2], as[i], m, bs[i], k,
                            betas[i / 2], cs[i], m);
            print_bits("groups", c, count * stride_c);
        }
        for (int round = 0; round < 2; ++round) {
            make_operands(format);
            for (int i = 0; i < count; ++i)
                cblas_sgemm(column_major, no_trans, no_trans, m, n, k, 0.75F, as[i], m, bs[i], k, 0.5F, cs[i], m);
            print_bits("strided", c, count * stride_c);
        }
        return 0;
    }
#endif
    cblas_sgemm_batch(column_major, no, no, ms, ns, ks, alphas, as, ms, bs, ks, betas, cs, ms, groups, sizes);
    print_bits("groups", c, count * stride_c);
    make_operands(format);
    sgemm_batch_("NN", "NN", ms, ns, ks, alphas, as, ms, bs, ks, betas, cs, ms, &groups, sizes);
    print_bits("groups", c, count * stride_c);
    make_operands(format);
    cblas_sgemm_batch_strided(column_major, no_trans, no_trans, m, n, k, 0.75F, a, m, stride_a, b, k, stride_b, 0.5F,
                              c, m, stride_c, count);
    print_bits("strided", c, count * stride_c);
    make_operands(format);
    sgemm_batch_strided_("N", "N", &one_m, &one_n, &one_k, alphas, a, &one_m, &sa, b, &one_k, &sb, betas, c, &one_m,
                         &sc, &products);
    print_bits("strided", c, count * stride_c);
    return 0;
}
