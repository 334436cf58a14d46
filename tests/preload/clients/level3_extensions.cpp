// Makes products that BLIS has beyond the BLAS standard: gemmt, gemm3m and pointer-array batches.
//
//   level3_extensions [FORMAT]    rounds the operands to FORMAT (fp32, tf32, bf16) first

#include "level3.hpp"

using Char = const char*;
using Int = const blas_int*;

extern "C" {
void sgemmt_(Char, Char, Char, Int, Int, const float*, const float*, Int, const float*, Int, const float*, float*,
             Int);
void cgemmt_(Char, Char, Char, Int, Int, const complex_number*, const complex_number*, Int, const complex_number*,
             Int, const complex_number*, complex_number*, Int);
void cblas_sgemmt(int, int, int, int, blas_int, blas_int, float, const float*, blas_int, const float*, blas_int,
                  float, float*, blas_int);
void cgemm3m_(Char, Char, Int, Int, Int, const complex_number*, const complex_number*, Int, const complex_number*,
              Int, const complex_number*, complex_number*, Int);
void cblas_cgemm3m(int, int, int, blas_int, blas_int, blas_int, const complex_number*, const complex_number*,
                   blas_int, const complex_number*, blas_int, const complex_number*, complex_number*, blas_int);
void cblas_sgemm_batch(int, const int*, const int*, Int, Int, Int, const float*, const float**, Int, const float**,
                       Int, const float*, float**, Int, blas_int, Int);
void cgemm_batch_(Char, Char, Int, Int, Int, const complex_number*, const complex_number**, Int,
                  const complex_number**, Int, const complex_number*, complex_number**, Int, Int, Int);
}

namespace {

constexpr blas_int m = 7, n = 9, k = 11;
constexpr float alpha = 0.75F, beta = 0.5F;
constexpr complex_number complex_alpha{0.75F, -0.25F}, complex_beta{0.5F, 0.125F};

void gemmt() {
    for (int uplo : {upper, lower}) {
        auto a = operand<float>(column_major, n, k, 1), b = operand<float>(column_major, k, n, 2),
             c = unrounded<float>(column_major, n, n, 3);
        sgemmt_(letter(uplo), "N", "N", &n, &k, &alpha, a.data(), &a.ld, b.data(), &b.ld, &beta, c.data(), &c.ld);
        print(std::string("fortran-sgemmt-") + letter(uplo), c);

        auto ca = operand<complex_number>(column_major, n, k, 1), cb = operand<complex_number>(column_major, k, n, 2),
             cc = unrounded<complex_number>(column_major, n, n, 3);
        cgemmt_(letter(uplo), "N", "N", &n, &k, &complex_alpha, ca.data(), &ca.ld, cb.data(), &cb.ld, &complex_beta,
                cc.data(), &cc.ld);
        print(std::string("fortran-cgemmt-") + letter(uplo), cc);

        auto ra = operand<float>(row_major, n, k, 1), rb = operand<float>(row_major, k, n, 2),
             rc = unrounded<float>(row_major, n, n, 3);
        cblas_sgemmt(row_major, uplo, no_trans, no_trans, n, k, alpha, ra.data(), ra.ld, rb.data(), rb.ld, beta,
                     rc.data(), rc.ld);
        print(std::string("row-sgemmt-") + letter(uplo), rc);
    }
}

void gemm3m() {
    auto a = operand<complex_number>(column_major, m, k, 1), b = operand<complex_number>(column_major, k, n, 2),
         c = unrounded<complex_number>(column_major, m, n, 3);
    cgemm3m_("N", "N", &m, &n, &k, &complex_alpha, a.data(), &a.ld, b.data(), &b.ld, &complex_beta, c.data(), &c.ld);
    print("fortran-cgemm3m", c);
    auto ra = operand<complex_number>(row_major, m, k, 1), rb = operand<complex_number>(row_major, k, n, 2),
         rc = unrounded<complex_number>(row_major, m, n, 3);
    cblas_cgemm3m(row_major, no_trans, no_trans, m, n, k, &complex_alpha, ra.data(), ra.ld, rb.data(), rb.ld,
                  &complex_beta, rc.data(), rc.ld);
    print("row-cgemm3m", rc);
}

/// Tests a batch of two groups: two products of m×n×k, and one of n×n×k.
template <class T>
struct Batch {
    static constexpr blas_int groups = 2;
    blas_int ms[2] = {m, n}, ns[2] = {n, n}, ks[2] = {k, k}, sizes[2] = {2, 1}, lda[2], ldb[2], ldc[2];
    std::vector<Matrix<T>> a, b, c;
    const T* as[3];
    const T* bs[3];
    T* cs[3];

    explicit Batch(int layout) {
        for (unsigned i = 0; i < 3; ++i) {
            const blas_int rows = i < 2 ? m : n;
            a.push_back(operand<T>(layout, rows, k, 10 * i + 1));
            b.push_back(operand<T>(layout, k, n, 10 * i + 2));
            c.push_back(unrounded<T>(layout, rows, n, 10 * i + 3));
            lda[i / 2] = a.back().ld;
            ldb[i / 2] = b.back().ld;
            ldc[i / 2] = c.back().ld;
        }
        for (int i = 0; i < 3; ++i) {
            as[i] = a[i].data();
            bs[i] = b[i].data();
            cs[i] = c[i].data();
        }
    }

    void print_all(const std::string& name) {
        for (int i = 0; i < 3; ++i) print(name + '-' + std::to_string(i), c[i]);
    }
};

void batches() {
    for (int layout : {column_major, row_major}) {
        Batch<float> batch(layout);
        const int no[2] = {no_trans, no_trans};
        const float alphas[2] = {alpha, 1}, betas[2] = {beta, 0.25F};
        cblas_sgemm_batch(layout, no, no, batch.ms, batch.ns, batch.ks, alphas, batch.as, batch.lda, batch.bs,
                          batch.ldb, betas, batch.cs, batch.ldc, batch.groups, batch.sizes);
        batch.print_all(layout == row_major ? "row-sgemm_batch" : "column-sgemm_batch");
    }
    Batch<complex_number> batch(column_major);
    const complex_number alphas[2] = {complex_alpha, 1}, betas[2] = {complex_beta, 0.25F};
    cgemm_batch_("NN", "NN", batch.ms, batch.ns, batch.ks, alphas, batch.as, batch.lda, batch.bs, batch.ldb, betas,
                 batch.cs, batch.ldc, &batch.groups, batch.sizes);
    batch.print_all("fortran-cgemm_batch");
}

}  // namespace

int main(int argc, char** argv) {
    if (argc > 1) format = argv[1];
    gemmt();
    gemm3m();
    batches();
    return 0;
}
