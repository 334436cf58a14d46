// The interface of the innermost loops of products with a vector, and of sums over vectors.
#pragma once

#include <cstdint>

#include "shim/blas/multiply/tile.hpp"

namespace fp32shim::blas {

/// A part of a matrix in memory. The distances count elements. One of the two distances is 1, unless there is only
/// one row or column.
template <class Real>
struct StridedMatrix {
    const Real* data;
    std::int64_t of_row;     ///< distance from one row to the next
    std::int64_t of_column;  ///< distance from one column to the next
    std::int64_t rows;
    std::int64_t columns;
};

/// A vector of `count` elements in memory. Successive elements are `increment` elements apart. Element 0 is at
/// `data`, whatever the increment's sign.
template <class Real>
struct StridedVector {
    Real* data;
    std::int64_t increment;
    std::int64_t count;
};

/// Stores the sums of all blocks of two vectors, which have equal counts, one after the other. The last block may be
/// shorter. A sum over a single vector gets this vector for both arguments.
template <class Sum, class Real>
using SumsOfBlocks = void (*)(const StridedVector<const Real>& a, const StridedVector<const Real>& b, double scale,
                              Sum* sums);

/// The length of a block of a sum in double precision, such as the sum of a norm.
inline constexpr std::int64_t summed_in_turn = std::int64_t{1} << 16;

/// The way in which loops use the sums that are in memory before terms are added. Either the chains of additions of
/// these sums continue, or the terms are summed in parts, whose chains begin at 0, and the sums of the parts are
/// added to the old sums or replace them.
enum class SumsBefore : std::uint8_t { are_continued, are_added_to, are_replaced };

/// Loops over vectors of one type of numbers. In an array of two functions, the first one is for real elements, and
/// the second one is for complex elements.
template <class Real>
struct VectorLoops {
    /// Adds the terms of all columns of A to the sums of the rows of A x, in the order of the columns. Each term is
    /// added by one fused multiply-add, or by two for each part of a complex sum. For real numbers, `factors` is x.
    /// For complex numbers, `factors` has the numbers by which re and im of each element of A are multiplied for the
    /// real part of a sum, and then the numbers for the imaginary part.
    using AddProduct = void (*)(const StridedMatrix<Real>& a, const Real* factors, Real* sums);
    AddProduct add_columns[2];  ///< functions for a.of_row = 1; they continue the sums
    AddProduct add_rows[3][2];  ///< functions for any other A, one pair for each SumsBefore

    /// Computes to := to + alpha x b, for `count` adjacent elements of x and `to`, and one number b. `factors` has
    /// the factors of b, in the order that AddProduct describes.
    void (*add_multiple[2])(const Real* x, std::int64_t count, const Real* factors, const Real* alpha, Real* to);
    /// Sets each element to alpha sum + beta element. Does not read the element if beta is 0.
    void (*add_to_result[2])(const Real* sums, const StridedVector<Real>& result, const Real* alpha,
                             const Real* beta);
    /// Sets x to cosine x + sine y, and y to cosine y - sine x.
    void (*rotate[2])(const StridedVector<Real>& x, const StridedVector<Real>& y, Real cosine, Real sine);
    /// Stores the sum of the products a b, or conj(a) b, over each block of summed_at_once numbers. The sum of a
    /// block is one number, or two if the elements are complex.
    using Dot = SumsOfBlocks<Real, Real>;
    Dot dot[2];
    Dot dot_of_conjugate;
    /// These functions sum the magnitudes of all numbers of a vector, or the squares of `scale` times each number,
    /// over each block of summed_in_turn numbers. They store two numbers for each block: the sum, and the error of
    /// its additions.
    SumsOfBlocks<double, Real> magnitudes[2];
    SumsOfBlocks<double, Real> squares[2];
};

}  // namespace fp32shim::blas
