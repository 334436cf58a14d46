// The operands of a product in their mathematical form, for code that computes products itself: op() is applied, and
// a symmetric or Hermitian operand is completed from its stored triangle.
//
// `Number` is the type of an element that the code computes with, such as Element<float>. It has the members `re` and
// `im` (`im` is 0 for real elements) and two static functions: read(memory, is_double, is_pair), and
// missing_element() for an element outside a triangle.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "shim/level3/level3.hpp"
#include "shim/level3/matrix.hpp"
#include "shim/level3/roles.hpp"

namespace fp32shim::blas {

/// An element of an operand whose numbers have the type Real. `exists` is false for an element of a triangular
/// operand that is outside its triangle.
template <class Real>
struct Element {
    Real re = 0;
    Real im = 0;
    bool exists = true;

    static Element read(const void* memory, bool /*is_double*/, bool is_pair) {
        const auto* const at = static_cast<const Real*>(memory);
        return {at[0], is_pair ? at[1] : Real{0}};
    }
    static Element missing_element() { return {.exists = false}; }
};
using FloatElement = Element<float>;

template <class Real>
bool is_zero(Element<Real> x) {
    return x.re == 0 && x.im == 0;
}

/// Returns the largest power of two that is at most |re| or |im|, or the next one whose inverse is a normal number.
template <class Real>
Real power_of_two(Element<Real> x) {
    using Bits = std::conditional_t<sizeof(Real) == sizeof(float), std::uint32_t, std::uint64_t>;
    using Limits = std::numeric_limits<Real>;
    const Bits exponent = std::bit_cast<Bits>(Limits::infinity());
    const Real power = std::bit_cast<Real>(std::bit_cast<Bits>(x.re) & exponent);
    const Real of_imaginary = std::bit_cast<Real>(std::bit_cast<Bits>(x.im) & exponent);
    return std::clamp(std::max(power, of_imaginary), Limits::min(), 1 / Limits::min());
}

template <class Number>
Number conj(Number x) {
    x.im = -x.im;
    return x;
}

template <class Number>
Number element_at(const Matrix& matrix, std::int64_t row, std::int64_t column) {
    return Number::read(matrix.at(row, column), matrix.is_double, matrix.is_complex);
}

/// A factor op(A) or op(B), which refers to the program's memory.
template <class Number>
class OperandView {
  public:
    OperandView() = default;
    OperandView(const Matrix& matrix, char trans) : matrix_(matrix), trans_(trans) {}
    /// Refers to the operand A of a product that stores only one triangle of A.
    explicit OperandView(const Level3& product)
        : matrix_(operand_a(product)),
          trans_(is_trmm_or_trsm(product.operation) ? product.trans_a : 'N'),
          part_(part_of_a(product)),
          product_(&product) {}

    Number at(std::int64_t row, std::int64_t column) const {
        const Number value = transposes(trans_) ? completed_element(column, row) : completed_element(row, column);
        return conjugates(trans_) ? conj(value) : value;
    }

    /// Returns true if every element is stored, and false if only one triangle is stored.
    bool is_whole() const { return product_ == nullptr; }
    const Matrix& stored_matrix() const { return matrix_; }
    /// Where an element off the diagonal is: in the stored triangle, on the other side of the diagonal, or nowhere.
    enum class Place : std::uint8_t { stored, mirrored, missing };
    Place place_of(std::int64_t row, std::int64_t column) const {
        if (transposes(trans_) ? contains(part_, column, row) : contains(part_, row, column)) return Place::stored;
        return is_trmm_or_trsm(product_->operation) ? Place::missing : Place::mirrored;
    }
    /// Returns true if a mirrored element is the conjugate of the stored element.
    bool is_hermitian() const { return product_ != nullptr && product_->operation == Operation::hemm; }
    char trans() const { return trans_; }
    /// Returns true if the diagonal of a triangle counts as 1, whatever is stored there.
    bool has_unit_diagonal() const { return product_ != nullptr && product_->diag == 'U'; }

  private:
    Number completed_element(std::int64_t row, std::int64_t column) const {
        if (product_ == nullptr) return stored_element(row, column);
        const bool is_there = contains(part_, row, column);
        switch (product_->operation) {
            case Operation::symm:
                return is_there ? stored_element(row, column) : stored_element(column, row);
            case Operation::hemm:
                if (row == column) return {stored_element(row, row).re};
                return is_there ? stored_element(row, column) : conj(stored_element(column, row));
            default:  // a trmm or trsm
                if (row == column && product_->diag == 'U') return {1.0F};
                return is_there ? stored_element(row, column) : Number::missing_element();
        }
    }
    Number stored_element(std::int64_t row, std::int64_t column) const {
        return element_at<Number>(matrix_, row, column);
    }

    Matrix matrix_;
    char trans_ = 'N';
    Part part_ = Part::whole;
    const Level3* product_ = nullptr;
};

/// A product of two factors, result := alpha left right + beta result. A rank-2k update consists of two such
/// products.
template <class Number>
struct TwoFactorProduct {
    OperandView<Number> left;
    OperandView<Number> right;
    std::int64_t depth = 0;  ///< the number of terms in each sum
    Number alpha;
    Number beta;
};

/// Calls `use` with each product of two factors of which `product` consists, in order. The factors refer to
/// `product`.
template <class Number, class Use>
void for_each_two_factor_product(const Level3& product, const Use& use) {
    using Factors = TwoFactorProduct<Number>;
    const bool hermitian = is_herk_or_her2k(product.operation);
    const auto scalar = [&](const void* at, bool is_beta) {
        return at == nullptr ? Number{} : Number::read(at, product.is_double, has_complex_scalar(product, is_beta));
    };
    const Number alpha = scalar(product.alpha, false);
    const Number beta = scalar(product.beta, true);
    const Matrix a = operand_a(product);
    const Matrix b = operand_b(product);
    const char transposed = hermitian ? 'C' : 'T';
    const char other = product.trans_a == 'N' ? transposed : 'N';
    const OperandView<Number> op_a{a, product.trans_a};
    switch (product.operation) {
        case Operation::gemm:
        case Operation::gemmt:
            return use(Factors{op_a, {b, product.trans_b}, product.k, alpha, beta});
        case Operation::syrk:
        case Operation::herk:
            return use(Factors{op_a, {a, other}, product.k, alpha, beta});
        case Operation::syr2k:
        case Operation::her2k:
            use(Factors{op_a, {b, other}, product.k, alpha, beta});
            return use(
                Factors{{b, product.trans_a}, {a, other}, product.k, hermitian ? conj(alpha) : alpha, Number{1.0F}});
        default:  // a trmm; an in-place trmm has no beta
            if (product.side == 'L') return use(Factors{OperandView<Number>(product), {b, 'N'}, a.rows, alpha, beta});
            return use(Factors{{b, 'N'}, OperandView<Number>(product), a.rows, alpha, beta});
    }
}

}  // namespace fp32shim::blas
