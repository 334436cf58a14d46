// The innermost loops of products with a vector, and of sums over vectors.
#pragma once

#include <cstdint>

#include "shim/blas/multiply/tile.hpp"

namespace fp32shim::blas {

/// A part of a matrix in memory. Distances count elements. One of the two distances is 1, or there is only one row
/// or column.
template <class Real>
struct StridedMatrix {
    const Real* data;
    std::int64_t of_row;     ///< distance from one row to the next
    std::int64_t of_column;  ///< distance from one column to the next
    std::int64_t rows;
    std::int64_t columns;
};

/// A vector of `count` elements in memory, each `increment` elements after the one before. Element 0 is at `data`,
/// whatever the increment's sign.
template <class Real>
struct StridedVector {
    Real* data;
    std::int64_t increment;
    std::int64_t count;
};

/// Stores the sums of all blocks of two vectors, which have equal counts, one after the other. The last block may be
/// shorter. A sum over a single vector gets that vector as both.
template <class Sum, class Real>
using SumsOfBlocks = void (*)(const StridedVector<const Real>& a, const StridedVector<const Real>& b, double scale,
                              Sum* sums);

/// The length of a block of a sum in double precision, such as that of a norm.
inline constexpr std::int64_t summed_in_turn = std::int64_t{1} << 16;

/// What becomes of sums to which terms are added. Either their chains of additions go on, or the sums of the parts,
/// whose chains begin at the first term, are added to them or take their place.
enum class SumsBefore : std::uint8_t { are_continued, are_added_to, are_replaced };

/// Loops over vectors of one type of numbers. In an array of two functions, the first is for real and the second for
/// complex elements.
template <class Real>
struct VectorLoops {
    /// Adds the terms of all columns of A to the sums of the rows of A x, in the order of the columns. Each term is
    /// added by one fused multiply-add, or by two for each part of a complex sum. If x is complex, `factors` has the
    /// numbers by which re and im of each element of A are multiplied for the real part of a sum, and then those for
    /// the imaginary part.
    using AddProduct = void (*)(const StridedMatrix<Real>& a, const Real* factors, Real* sums);
    AddProduct add_columns[2];  ///< for a.of_row = 1; the sums are continued
    AddProduct add_rows[3][2];  ///< for any other A, and for each SumsBefore

    /// Computes to := to + alpha x b, for `count` adjacent elements of x and `to`, and one number b. `factors` are
    /// those of b, as for AddProduct.
    void (*add_multiple[2])(const Real* x, std::int64_t count, const Real* factors, const Real* alpha, Real* to);
    /// Sets each element to alpha sum + beta element. Does not read it if beta is 0.
    void (*add_to_result[2])(const Real* sums, const StridedVector<Real>& result, const Real* alpha,
                             const Real* beta);
    /// Sets x to cosine x + sine y, and y to cosine y - sine x.
    void (*rotate[2])(const StridedVector<Real>& x, const StridedVector<Real>& y, Real cosine, Real sine);
    /// Stores the sums of a b, or of conj(a) b, of each block of summed_at_once numbers: one number for each block,
    /// or two if the elements are complex.
    using Dot = SumsOfBlocks<Real, Real>;
    Dot dot[2];
    Dot dot_of_conjugate;
    /// Stores the sums of the magnitudes of all numbers of a vector, or of the squares of `scale` times each number,
    /// of each block of summed_in_turn numbers. There are two numbers for each block: the sum, and the error of its
    /// additions.
    SumsOfBlocks<double, Real> magnitudes[2];
    SumsOfBlocks<double, Real> squares[2];
};

}  // namespace fp32shim::blas
