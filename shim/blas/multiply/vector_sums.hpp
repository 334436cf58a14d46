// The innermost loops of products with a vector, and of sums over vectors.
#pragma once

#include <cstdint>

#include "shim/blas/multiply/tile.hpp"

namespace fp32shim::blas {

/// Elements of a matrix. Distances count elements. One of them is 1, or there is one row or column.
template <class Real>
struct PartOfMatrix {
    const Real* data;
    std::int64_t of_row;     ///< from one row to the next
    std::int64_t of_column;  ///< from one column to the next
    std::int64_t rows;
    std::int64_t columns;
};

/// `count` elements, `increment` elements from one to the next. Element 0 is at `data`, whatever the increment's
/// sign.
template <class Real>
struct Elements {
    Real* data;
    std::int64_t increment;
    std::int64_t count;
};

/// Stores the sums of all blocks of two vectors, which have equal counts, one after the other. The last block may be
/// shorter. A sum over one vector gets it twice.
template <class Sum, class Real>
using SumsOfBlocks = void (*)(const Elements<const Real>& a, const Elements<const Real>& b, double scale, Sum* sums);

/// The numbers of one block of a norm, or of another sum in double precision.
inline constexpr std::int64_t summed_in_turn = std::int64_t{1} << 16;

/// What becomes of the sums to which terms are added: the chains that they are go on; or the sums of parts, which
/// begin at the first term, are added to them, or take their place.
enum class SumsBefore : std::uint8_t { are_continued, are_added_to, are_replaced };

/// Loops over numbers of one type. Arrays of two functions have that of real elements and that of complex ones.
template <class Real>
struct VectorLoops {
    /// Adds the terms of all columns of A to the sums of the rows of A x, one for each row: in order, each by one
    /// fused multiply-add, or two for each part of a complex sum. Of a complex x, `factors` has the numbers by which
    /// re and im of each element of A are multiplied for the real part of a sum, and then those for the imaginary
    /// part.
    using AddProduct = void (*)(const PartOfMatrix<Real>& a, const Real* factors, Real* sums);
    AddProduct add_columns[2];  ///< a.of_row is 1; the sums are continued
    AddProduct add_rows[3][2];  ///< of another A, for each SumsBefore

    /// Adds alpha times the product of each of `count` adjacent elements of x and one number to an element of `to`.
    /// `factors` are those of that number.
    void (*add_multiple[2])(const Real* x, std::int64_t count, const Real* factors, const Real* alpha, Real* to);
    /// Sets each element to alpha sum + beta element. Does not read it if beta is 0.
    void (*add_to_result[2])(const Real* sums, const Elements<Real>& result, const Real* alpha, const Real* beta);
    /// Sets x to cosine x + sine y, and y to cosine y - sine x.
    void (*rotate[2])(const Elements<Real>& x, const Elements<Real>& y, Real cosine, Real sine);
    /// Sums of a b, or of conj(a) b, in blocks of summed_at_once numbers. One number for each block, or two.
    using Dot = SumsOfBlocks<Real, Real>;
    Dot dot[2];
    Dot dot_of_conjugate;
    /// Sums of the magnitudes of all numbers of a vector, and of the squares of `scale` times each number, in blocks
    /// of summed_in_turn numbers. Two numbers for each block: a sum, and what its additions lost.
    SumsOfBlocks<double, Real> magnitudes[2];
    SumsOfBlocks<double, Real> squares[2];
};

}  // namespace fp32shim::blas
