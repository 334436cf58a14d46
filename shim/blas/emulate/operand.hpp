// The operands of a product in memory, and rounded copies of them or of parts of them. Sizes are in elements of
// the product's dtype; a complex element is two floats.
#pragma once

#include <cstddef>
#include <cstdint>

#include "shim/blas/emulate/level3.hpp"
#include "shim/blas/emulate/rounding.hpp"

namespace fp32shim::blas {

/// A matrix in memory. Element (inner i, outer j) is at data + (i + j * ld) * width: `inner` runs along the leading
/// dimension, over rows in column-major order and over columns in row-major order.
struct Matrix {
    const float* data = nullptr;
    std::int64_t rows = 0;
    std::int64_t columns = 0;
    std::int64_t ld = 0;
    bool row_major = false;
    int width = 1;  ///< floats per element

    std::int64_t inner() const { return row_major ? columns : rows; }
    std::int64_t outer() const { return row_major ? rows : columns; }
    const float* at(std::int64_t row, std::int64_t column) const {
        return data + (row_major ? row * ld + column : row + column * ld) * width;
    }
    Matrix block(std::int64_t row, std::int64_t column, std::int64_t row_count, std::int64_t column_count) const {
        return {at(row, column), row_count, column_count, ld, row_major, width};
    }
    bool operator==(const Matrix&) const = default;
};

/// Returns A, B or C as stored, before op(). Empty: B of syrk and herk, C of an in-place trmm or trsm.
Matrix operand_a(const Level3& product);
Matrix operand_b(const Level3& product);
Matrix operand_c(const Level3& product);

/// The part of a square operand that the routine reads.
enum class Part : std::uint8_t { whole, upper, lower };
Part part_of_a(const Level3& product);

/// Indices from `begin` to before `end`.
struct IndexRange {
    std::int64_t begin;
    std::int64_t end;
};

/// Returns the inner indices of the elements that `part` has at an outer index.
IndexRange stored_range(const Matrix& matrix, Part part, std::int64_t outer);

/// Returns the bytes that a rounded copy of the matrix needs, a multiple of 64; SIZE_MAX on overflow.
std::size_t copy_bytes(const Matrix& matrix);

/// Rounds `from` into `to`, which has room for copy_bytes(from). Elements outside `part` are not read, and undefined
/// in the copy.
Matrix rounded_copy(const Matrix& from, Part part, float* to, RoundingKernel kernel);
void round_in_place(const Matrix& matrix, RoundingKernel kernel);

/// Replaces A of a call by a rounded copy in `to`, which has room for copy_bytes(operand_a(call)). A rounded A that
/// has only a rest of each number (`is_first` is false) has 0 in place of a diagonal that is 1 without being stored.
void set_rounded_a(Level3& call, RoundingKernel kernel, bool is_first, float* to);

/// An operand that is cut into panels: op(A) into groups of rows, op(B) into groups of columns. A panel has the full
/// summed dimension.
struct Factor {
    Matrix stored;
    bool cut_rows = true;     ///< a panel is a group of rows of `stored`; else a group of columns
    Part part = Part::whole;  ///< triangle that is stored, if the factor is symmetric or Hermitian
    bool hermitian = false;
    RoundingKernel kernel = nullptr;  ///< rounding of its copies

    std::int64_t length() const { return cut_rows ? stored.rows : stored.columns; }
    Matrix panel(std::int64_t first, std::int64_t count) const {
        return cut_rows ? stored.block(first, 0, count, stored.columns) : stored.block(0, first, stored.rows, count);
    }
};

std::size_t panel_bytes(const Factor& factor, std::int64_t count);

/// Returns a rounded copy of a panel. A symmetric factor's missing triangle is filled in from the stored one.
Factor rounded_panel(const Factor& factor, std::int64_t first, std::int64_t count, float* to);

}  // namespace fp32shim::blas
