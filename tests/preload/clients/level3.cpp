// Makes every level-3 product of the BLAS standard, real and complex, with every combination of its options, through
// the Fortran interface and both layouts of CBLAS. Prints one line per product: a label and the bits of the result.
//
//   level3 [FORMAT]    rounds the operands to FORMAT (fp32, tf32, bf16) first
//
// Compiled with FLOAT64, makes those of float64 and complex128.

#include "level3.hpp"

// Names of functions of the real and of the complex type.
#ifdef FLOAT64
#define REAL(name) d##name
#define COMPLEX(name) z##name
#define CBLAS_REAL(name) cblas_d##name
#define CBLAS_COMPLEX(name) cblas_z##name
#else
#define REAL(name) s##name
#define COMPLEX(name) c##name
#define CBLAS_REAL(name) cblas_s##name
#define CBLAS_COMPLEX(name) cblas_c##name
#endif

using Char = const char*;
using Int = const blas_int*;

// N and CBLAS make names of functions of the type, T is its C type, and S the type in which CBLAS takes a scalar.
#define DECLARE(N, CBLAS, T, S)                                                                                      \
    void N(gemm_)(Char, Char, Int, Int, Int, const T*, const T*, Int, const T*, Int, const T*, T*, Int);             \
    void N(symm_)(Char, Char, Int, Int, const T*, const T*, Int, const T*, Int, const T*, T*, Int);                  \
    void N(syrk_)(Char, Char, Int, Int, const T*, const T*, Int, const T*, T*, Int);                                 \
    void N(syr2k_)(Char, Char, Int, Int, const T*, const T*, Int, const T*, Int, const T*, T*, Int);                 \
    void N(trmm_)(Char, Char, Char, Char, Int, Int, const T*, const T*, Int, T*, Int);                               \
    void N(trsm_)(Char, Char, Char, Char, Int, Int, const T*, const T*, Int, T*, Int);                               \
    void CBLAS(gemm)(int, int, int, blas_int, blas_int, blas_int, S, const T*, blas_int, const T*, blas_int, S, T*,  \
                     blas_int);                                                                                      \
    void CBLAS(symm)(int, int, int, blas_int, blas_int, S, const T*, blas_int, const T*, blas_int, S, T*, blas_int); \
    void CBLAS(syrk)(int, int, int, blas_int, blas_int, S, const T*, blas_int, S, T*, blas_int);                     \
    void CBLAS(syr2k)(int, int, int, blas_int, blas_int, S, const T*, blas_int, const T*, blas_int, S, T*,           \
                      blas_int);                                                                                     \
    void CBLAS(trmm)(int, int, int, int, int, blas_int, blas_int, S, const T*, blas_int, T*, blas_int);              \
    void CBLAS(trsm)(int, int, int, int, int, blas_int, blas_int, S, const T*, blas_int, T*, blas_int);

extern "C" {
DECLARE(REAL, CBLAS_REAL, number, number)
DECLARE(COMPLEX, CBLAS_COMPLEX, complex_number, const complex_number*)
void COMPLEX(hemm_)(Char, Char, Int, Int, const complex_number*, const complex_number*, Int, const complex_number*,
                    Int, const complex_number*, complex_number*, Int);
void COMPLEX(herk_)(Char, Char, Int, Int, const number*, const complex_number*, Int, const number*, complex_number*,
                    Int);
void COMPLEX(her2k_)(Char, Char, Int, Int, const complex_number*, const complex_number*, Int, const complex_number*,
                     Int, const number*, complex_number*, Int);
void CBLAS_COMPLEX(hemm)(int, int, int, blas_int, blas_int, const complex_number*, const complex_number*, blas_int,
                         const complex_number*, blas_int, const complex_number*, complex_number*, blas_int);
void CBLAS_COMPLEX(herk)(int, int, int, blas_int, blas_int, number, const complex_number*, blas_int, number,
                         complex_number*, blas_int);
void CBLAS_COMPLEX(her2k)(int, int, int, blas_int, blas_int, const complex_number*, const complex_number*, blas_int,
                          const complex_number*, blas_int, number, complex_number*, blas_int);
}

namespace {

constexpr blas_int m = 7, n = 9, k = 11;

/// A type: its gemm, and the way in which CBLAS takes its scalars.
struct Real {
    using T = number;
    static constexpr T alpha = 0.75F, beta = 0.5F;
    static T scalar(const T& x) { return x; }
    static constexpr auto gemm = REAL(gemm_);
    static constexpr auto cblas_gemm = CBLAS_REAL(gemm);
};

struct Complex {
    using T = complex_number;
    static constexpr T alpha{0.75F, -0.25F}, beta{0.5F, 0.125F};
    static const T* scalar(const T& x) { return &x; }
    static constexpr auto gemm = COMPLEX(gemm_);
    static constexpr auto cblas_gemm = CBLAS_COMPLEX(gemm);
};

const std::string forms[] = {"fortran", "column", "row"};
int layout_of(const std::string& form) { return form == "row" ? row_major : column_major; }

/// Joins the words of a label.
template <class... Words>
std::string label(const std::string& form, Words... words) {
    std::string result = form;
    ((result += '-', result += words), ...);
    return result;
}

template <class R>
void all_gemm(const char* name, std::vector<int> transpositions) {
    using T = typename R::T;
    for (const auto& form : forms) {
        const int layout = layout_of(form);
        for (int ta : transpositions) {
            for (int tb : transpositions) {
                auto a = ta == no_trans ? operand<T>(layout, m, k, 1) : operand<T>(layout, k, m, 1);
                auto b = tb == no_trans ? operand<T>(layout, k, n, 2) : operand<T>(layout, n, k, 2);
                auto c = unrounded<T>(layout, m, n, 3);
                if (form == "fortran") {
                    R::gemm(letter(ta), letter(tb), &m, &n, &k, &R::alpha, a.data(), &a.ld, b.data(), &b.ld, &R::beta,
                            c.data(), &c.ld);
                } else {
                    R::cblas_gemm(layout, ta, tb, m, n, k, R::scalar(R::alpha), a.data(), a.ld, b.data(), b.ld,
                                  R::scalar(R::beta), c.data(), c.ld);
                }
                print(label(form, name, letter(ta), letter(tb)), c);
            }
        }
    }
}

/// Tests symm and hemm: C = alpha A B + beta C, or with B A; A is symmetric or Hermitian.
template <class R>
void all_symm(const char* name, auto fortran, auto cblas) {
    using T = typename R::T;
    for (const auto& form : forms) {
        const int layout = layout_of(form);
        for (int side : {left, right}) {
            for (int uplo : {upper, lower}) {
                auto a = triangle<T>(layout, side == left ? m : n, uplo, non_unit, 1);
                auto b = operand<T>(layout, m, n, 2);
                auto c = unrounded<T>(layout, m, n, 3);
                if (form == "fortran") {
                    fortran(letter(side), letter(uplo), &m, &n, &R::alpha, a.data(), &a.ld, b.data(), &b.ld, &R::beta,
                            c.data(), &c.ld);
                } else {
                    cblas(layout, side, uplo, m, n, R::scalar(R::alpha), a.data(), a.ld, b.data(), b.ld,
                          R::scalar(R::beta), c.data(), c.ld);
                }
                print(label(form, name, letter(side), letter(uplo)), c);
            }
        }
    }
}

/// Tests syrk and herk: C = alpha A A' + beta C, or with A' A; one triangle of C.
template <class T, class Scalar>
void all_syrk(const char* name, const Scalar& alpha, const Scalar& beta, auto scalar, int transposition, auto fortran,
              auto cblas) {
    for (const auto& form : forms) {
        const int layout = layout_of(form);
        for (int uplo : {upper, lower}) {
            for (int t : {static_cast<int>(no_trans), transposition}) {
                auto a = t == no_trans ? operand<T>(layout, n, k, 1) : operand<T>(layout, k, n, 1);
                auto c = unrounded<T>(layout, n, n, 3);
                if (form == "fortran") {
                    fortran(letter(uplo), letter(t), &n, &k, &alpha, a.data(), &a.ld, &beta, c.data(), &c.ld);
                } else {
                    cblas(layout, uplo, t, n, k, scalar(alpha), a.data(), a.ld, scalar(beta), c.data(), c.ld);
                }
                print(label(form, name, letter(uplo), letter(t)), c);
            }
        }
    }
}

/// Tests syr2k and her2k: C = alpha A B' + alpha' B A' + beta C; one triangle of C.
template <class T, class Beta>
void all_syr2k(const char* name, const T& alpha, const Beta& beta, auto alpha_scalar, auto beta_scalar,
               int transposition, auto fortran, auto cblas) {
    for (const auto& form : forms) {
        const int layout = layout_of(form);
        for (int uplo : {upper, lower}) {
            for (int t : {static_cast<int>(no_trans), transposition}) {
                auto a = t == no_trans ? operand<T>(layout, n, k, 1) : operand<T>(layout, k, n, 1);
                auto b = t == no_trans ? operand<T>(layout, n, k, 2) : operand<T>(layout, k, n, 2);
                auto c = unrounded<T>(layout, n, n, 3);
                if (form == "fortran") {
                    fortran(letter(uplo), letter(t), &n, &k, &alpha, a.data(), &a.ld, b.data(), &b.ld, &beta,
                            c.data(), &c.ld);
                } else {
                    cblas(layout, uplo, t, n, k, alpha_scalar(alpha), a.data(), a.ld, b.data(), b.ld,
                          beta_scalar(beta), c.data(), c.ld);
                }
                print(label(form, name, letter(uplo), letter(t)), c);
            }
        }
    }
}

/// Tests trmm, B = alpha op(A) B, or B op(A), in place; and trsm, whose solve rounds nothing.
template <class R>
void all_triangular(const char* name, bool is_product, std::vector<int> transpositions, auto fortran, auto cblas) {
    using T = typename R::T;
    for (const auto& form : forms) {
        const int layout = layout_of(form);
        for (int side : {left, right}) {
            for (int uplo : {upper, lower}) {
                for (int t : transpositions) {
                    for (int diag : {non_unit, unit}) {
                        auto a = triangle<T>(layout, side == left ? m : n, uplo, diag, 1, is_product);
                        auto b = is_product ? operand<T>(layout, m, n, 2) : unrounded<T>(layout, m, n, 2);
                        if (form == "fortran") {
                            fortran(letter(side), letter(uplo), letter(t), letter(diag), &m, &n, &R::alpha, a.data(),
                                    &a.ld, b.data(), &b.ld);
                        } else {
                            cblas(layout, side, uplo, t, diag, m, n, R::scalar(R::alpha), a.data(), a.ld, b.data(),
                                  b.ld);
                        }
                        print(label(form, name, letter(side), letter(uplo), letter(t), letter(diag)), b);
                    }
                }
            }
        }
    }
}

}  // namespace

int main(int argc, char** argv) {
    if (argc > 1) format = argv[1];
    all_gemm<Real>("sgemm", {no_trans, trans});
    all_gemm<Complex>("cgemm", {no_trans, trans, conj_trans});
    all_symm<Real>("ssymm", REAL(symm_), CBLAS_REAL(symm));
    all_symm<Complex>("csymm", COMPLEX(symm_), CBLAS_COMPLEX(symm));
    all_symm<Complex>("chemm", COMPLEX(hemm_), CBLAS_COMPLEX(hemm));

    const auto real = [](number x) { return x; };
    all_syrk<number>("ssyrk", Real::alpha, Real::beta, real, trans, REAL(syrk_), CBLAS_REAL(syrk));
    all_syrk<complex_number>("csyrk", Complex::alpha, Complex::beta, Complex::scalar, trans, COMPLEX(syrk_),
                             CBLAS_COMPLEX(syrk));
    all_syrk<complex_number>("cherk", Real::alpha, Real::beta, real, conj_trans, COMPLEX(herk_), CBLAS_COMPLEX(herk));
    all_syr2k("ssyr2k", Real::alpha, Real::beta, real, real, trans, REAL(syr2k_), CBLAS_REAL(syr2k));
    all_syr2k("csyr2k", Complex::alpha, Complex::beta, Complex::scalar, Complex::scalar, trans, COMPLEX(syr2k_),
              CBLAS_COMPLEX(syr2k));
    all_syr2k("cher2k", Complex::alpha, Real::beta, Complex::scalar, real, conj_trans, COMPLEX(her2k_),
              CBLAS_COMPLEX(her2k));

    all_triangular<Real>("strmm", true, {no_trans, trans}, REAL(trmm_), CBLAS_REAL(trmm));
    all_triangular<Complex>("ctrmm", true, {no_trans, trans, conj_trans}, COMPLEX(trmm_), CBLAS_COMPLEX(trmm));
    all_triangular<Real>("strsm", false, {no_trans, trans}, REAL(trsm_), CBLAS_REAL(trsm));
    all_triangular<Complex>("ctrsm", false, {no_trans, trans, conj_trans}, COMPLEX(trsm_), CBLAS_COMPLEX(trsm));
    return 0;
}
