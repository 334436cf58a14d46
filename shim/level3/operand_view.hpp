// The operands of a product in their mathematical form, for code that computes products itself: op() is applied, and
// a triangle is completed if the operation does so.
#pragma once

#include <cstdint>

#include "shim/level3/level3.hpp"
#include "shim/level3/matrix.hpp"

namespace fp32shim::blas {

/// An element of an operand, or the place where a triangle has none. A real element has im = 0.
struct Element {
    float re = 0;
    float im = 0;
    bool exists = true;
};

inline Element conj(Element x) { return {x.re, -x.im, x.exists}; }
inline bool is_zero(Element x) { return x.re == 0 && x.im == 0; }
inline Element element_at(const float* at, int width) { return {at[0], width == 2 ? at[1] : 0.0F}; }

/// A factor op(A) or op(B). Points into the program's memory.
class OperandView {
  public:
    OperandView() = default;
    OperandView(const Matrix& matrix, char trans) : matrix_(matrix), trans_(trans) {}
    /// Views A of a product whose A has one triangle only.
    explicit OperandView(const Level3& product)
        : matrix_(operand_a(product)),
          trans_(product.operation == Operation::trmm ? product.trans_a : 'N'),
          product_(&product) {}

    Element at(std::int64_t row, std::int64_t column) const {
        const Element value = is_transposed() ? stored(column, row) : stored(row, column);
        return is_conjugated() ? conj(value) : value;
    }

    /// Returns the stored matrix if all its elements are read where they stand; otherwise nullptr.
    const Matrix* whole_matrix() const { return product_ == nullptr ? &matrix_ : nullptr; }
    bool is_transposed() const { return trans_ == 'T' || trans_ == 'C'; }
    bool is_conjugated() const { return trans_ == 'C' || trans_ == 'R'; }

  private:
    Element stored(std::int64_t row, std::int64_t column) const {
        if (product_ == nullptr) return whole(row, column);
        const bool is_there = product_->uplo == 'U' ? row <= column : row >= column;
        switch (product_->operation) {
            case Operation::symm:
                return is_there ? whole(row, column) : whole(column, row);
            case Operation::hemm:
                if (row == column) return {whole(row, row).re};
                return is_there ? whole(row, column) : conj(whole(column, row));
            default:  // trmm
                if (row == column && product_->diag == 'U') return {1};
                return is_there ? whole(row, column) : Element{.exists = false};
        }
    }
    Element whole(std::int64_t row, std::int64_t column) const {
        return element_at(matrix_.at(row, column), matrix_.width);
    }

    Matrix matrix_;
    char trans_ = 'N';
    const Level3* product_ = nullptr;
};

/// One product of two factors: result := alpha left right + beta result. A rank-2k update has two of them.
struct ProductOfFactors {
    OperandView left;
    OperandView right;
    std::int64_t depth = 0;  ///< the length of the sums
    Element alpha;
    Element beta;
};

/// Calls `use` with each product of factors, in their order.
template <class Use>
void for_each_product_of_factors(const Level3& product, const Use& use) {
    const bool hermitian = product.operation == Operation::herk || product.operation == Operation::her2k;
    const auto scalar = [](const void* at, bool is_pair) {
        return at == nullptr ? Element{} : element_at(static_cast<const float*>(at), is_pair ? 2 : 1);
    };
    const Element alpha = scalar(product.alpha, product.is_complex && product.operation != Operation::herk);
    const Element beta = scalar(product.beta, product.is_complex && !hermitian);
    const Matrix a = operand_a(product);
    const Matrix b = operand_b(product);
    const char transposed = hermitian ? 'C' : 'T';
    const char other = product.trans_a == 'N' ? transposed : 'N';
    const OperandView op_a{a, product.trans_a};
    switch (product.operation) {
        case Operation::gemm:
        case Operation::gemmt:
            return use(ProductOfFactors{op_a, {b, product.trans_b}, product.k, alpha, beta});
        case Operation::syrk:
        case Operation::herk:
            return use(ProductOfFactors{op_a, {a, other}, product.k, alpha, beta});
        case Operation::syr2k:
        case Operation::her2k:
            use(ProductOfFactors{op_a, {b, other}, product.k, alpha, beta});
            return use(ProductOfFactors{
                {b, product.trans_a}, {a, other}, product.k, hermitian ? conj(alpha) : alpha, Element{1}});
        default:  // a trmm in place has no beta
            if (product.side == 'L')
                return use(ProductOfFactors{OperandView(product), {b, 'N'}, a.rows, alpha, beta});
            return use(ProductOfFactors{{b, 'N'}, OperandView(product), a.rows, alpha, beta});
    }
}

}  // namespace fp32shim::blas
