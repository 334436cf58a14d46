#include "naive_level3.hpp"

#include <complex>
#include <cstdint>
#include <type_traits>
#include <vector>

namespace fp32shim::tests {
namespace {

using blas::Level3;
using blas::Operation;

double conjugate(double value) { return value; }
std::complex<double> conjugate(std::complex<double> value) { return std::conj(value); }

/// One product. Element is the type of sums: double, or complex<double> for complex operands. Real is the type of the
/// operands' numbers.
template <typename Element, typename Real>
class Product {
  public:
    explicit Product(const Level3& p) : p_(p) {}

    void run() {
        switch (p_.operation) {
            case Operation::gemm:
                return update_c(p_.m, p_.n, p_.k, op(p_.a, p_.lda, p_.trans_a), op_b());
            case Operation::gemmt:
                return update_c(p_.n, p_.n, p_.k, op(p_.a, p_.lda, p_.trans_a), op_b());
            case Operation::symm:
            case Operation::hemm:
                return symmetric();
            case Operation::syrk:
            case Operation::herk:
            case Operation::syr2k:
            case Operation::her2k:
                return rank_k();
            case Operation::trmm:
                return triangular();
            default:  // solves and products with a vector are not emulated
                return;
        }
    }

  private:
    static constexpr bool is_complex = !std::is_same_v<Element, double>;
    using Stored = std::conditional_t<is_complex, std::complex<Real>, Real>;

    static Element element(const void* data, std::int64_t index = 0) {
        return static_cast<Element>(static_cast<const Stored*>(data)[index]);
    }
    std::int64_t index(std::int64_t i, std::int64_t j, std::int64_t ld) const {
        return p_.row_major ? i * ld + j : i + j * ld;
    }

    auto op(const void* data, std::int64_t ld, char trans) const {
        return [this, data, ld, trans](std::int64_t i, std::int64_t j) {
            const bool transposed = trans == 'T' || trans == 'C';
            const Element value = element(data, transposed ? index(j, i, ld) : index(i, j, ld));
            return trans == 'C' || trans == 'R' ? conjugate(value) : value;
        };
    }
    auto op_b() const { return op(p_.b, p_.ldb, p_.trans_b); }

    bool in_triangle(std::int64_t i, std::int64_t j) const { return p_.uplo == 'U' ? i <= j : i >= j; }
    bool updates_triangle() const {
        return p_.operation != Operation::gemm && p_.operation != Operation::symm &&
               p_.operation != Operation::hemm && p_.operation != Operation::trmm;
    }
    bool is_hermitian_update() const { return p_.operation == Operation::herk || p_.operation == Operation::her2k; }
    Element alpha() const {
        if (p_.operation == Operation::herk) return Element(*static_cast<const Real*>(p_.alpha));
        return element(p_.alpha);
    }
    Element beta() const {
        if (is_hermitian_update()) return Element(*static_cast<const Real*>(p_.beta));
        return element(p_.beta);
    }

    /// Computes C := alpha left right + beta C for the elements of C that the routine writes.
    template <typename Left, typename Right>
    void update_c(std::int64_t rows, std::int64_t columns, std::int64_t depth, Left left, Right right, Element alpha,
                  Element beta) {
        for (std::int64_t i = 0; i < rows; ++i) {
            for (std::int64_t j = 0; j < columns; ++j) {
                if (updates_triangle() && !in_triangle(i, j)) continue;
                Element sum{};
                for (std::int64_t l = 0; l < depth; ++l) sum += left(i, l) * right(l, j);
                Element result = alpha * sum;
                Stored& c = static_cast<Stored*>(p_.c)[index(i, j, p_.ldc)];
                if (beta != Element{}) {
                    Element old(c);
                    if constexpr (is_complex)
                        if (is_hermitian_update() && i == j) old = old.real();
                    result += beta * old;
                }
                if constexpr (is_complex)
                    if (is_hermitian_update() && i == j) result = result.real();
                c = static_cast<Stored>(result);
            }
        }
    }
    template <typename Left, typename Right>
    void update_c(std::int64_t rows, std::int64_t columns, std::int64_t depth, Left left, Right right) {
        update_c(rows, columns, depth, left, right, alpha(), beta());
    }

    void symmetric() {
        const auto a = [this](std::int64_t i, std::int64_t j) {
            const bool stored = in_triangle(i, j);
            Element value = element(p_.a, stored ? index(i, j, p_.lda) : index(j, i, p_.lda));
            if constexpr (is_complex)
                if (p_.operation == Operation::hemm && i == j) value = value.real();
            return stored || p_.operation == Operation::symm ? value : conjugate(value);
        };
        const auto b = op(p_.b, p_.ldb, 'N');
        if (p_.side == 'L')
            update_c(p_.m, p_.n, p_.m, a, b);
        else
            update_c(p_.m, p_.n, p_.n, b, a);
    }

    void rank_k() {
        const char transposed = is_hermitian_update() ? 'C' : 'T';
        const char left = p_.trans_a;
        const char right = left == 'N' ? transposed : 'N';
        if (p_.operation == Operation::syrk || p_.operation == Operation::herk)
            return update_c(p_.n, p_.n, p_.k, op(p_.a, p_.lda, left), op(p_.a, p_.lda, right));
        const Element second = p_.operation == Operation::her2k ? conjugate(alpha()) : alpha();
        update_c(p_.n, p_.n, p_.k, op(p_.a, p_.lda, left), op(p_.b, p_.ldb, right));
        update_c(p_.n, p_.n, p_.k, op(p_.b, p_.ldb, left), op(p_.a, p_.lda, right), second, Element(1.0));
    }

    void triangular() {
        const auto triangle = [this](std::int64_t i, std::int64_t j) {
            if (i == j && p_.diag == 'U') return Element(1.0);
            return in_triangle(i, j) ? element(p_.a, index(i, j, p_.lda)) : Element{};
        };
        const auto a = [&](std::int64_t i, std::int64_t j) {
            if (p_.trans_a == 'N') return triangle(i, j);
            return p_.trans_a == 'C' ? conjugate(triangle(j, i)) : triangle(j, i);
        };
        const auto b = op(p_.b, p_.ldb, 'N');
        if (p_.c != nullptr) {
            if (p_.side == 'L') return update_c(p_.m, p_.n, p_.m, a, b);
            return update_c(p_.m, p_.n, p_.n, b, a);
        }
        std::vector<Stored> result(static_cast<std::size_t>(p_.m * p_.n));
        Level3 out_of_place = p_;
        const Stored zero{};
        out_of_place.beta = &zero;
        out_of_place.c = result.data();
        out_of_place.ldc = p_.row_major ? p_.n : p_.m;
        Product(out_of_place).run();
        auto* const in_place = static_cast<Stored*>(const_cast<void*>(p_.b));
        for (std::int64_t i = 0; i < p_.m; ++i)
            for (std::int64_t j = 0; j < p_.n; ++j)
                in_place[index(i, j, p_.ldb)] = result[static_cast<std::size_t>(index(i, j, out_of_place.ldc))];
    }

    const Level3 p_;
};

}  // namespace

void naive_level3(const Level3& product) {
    if (product.is_double)
        product.is_complex ? Product<std::complex<double>, double>(product).run()
                           : Product<double, double>(product).run();
    else
        product.is_complex ? Product<std::complex<double>, float>(product).run()
                           : Product<double, float>(product).run();
}

}  // namespace fp32shim::tests
