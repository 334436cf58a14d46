// Rounded copies of the operands of a product, or of panels of the operands.
#pragma once

#include <cstddef>
#include <cstdint>

#include "shim/level3/matrix.hpp"

namespace fp32shim::blas {

/// Returns the sum of two sizes in bytes, or SIZE_MAX on overflow.
constexpr std::size_t saturated_sum(std::size_t a, std::size_t b) { return a > SIZE_MAX - b ? SIZE_MAX : a + b; }

/// Returns the size in bytes of a rounded copy of the matrix, a multiple of 64. Returns SIZE_MAX on overflow.
std::size_t rounded_copy_bytes(const Matrix& matrix);

/// Rounds `from` into `to`, which has room for rounded_copy_bytes(from) bytes. Does not read elements outside `part`,
/// and leaves them undefined in the copy.
Matrix rounded_copy(const Matrix& from, Part part, float* to, RoundingKernel kernel);

/// Rounds each line of a float64 matrix in place; the lines are the rows or the columns. The numbers of a line become
/// multiples of 2^(e + 1 - bits), where e = floor(log2|x|) of the line's largest number, rounded to nearest with ties
/// to even. If `part` is a triangle, only that triangle is read and written. If `counts_ones` is true, the diagonal
/// is not stored and counts as 1, so it is neither read nor written. A line with NaN or infinity stays as it is. Uses
/// no floating-point arithmetic. Thread-safe, allocates nothing.
void round_to_fixed_point(const Matrix& matrix, Part part, bool lines_are_rows, bool counts_ones, int bits);

/// Replaces A of a call by a rounded copy in `to`, which has room for rounded_copy_bytes(operand_a(call)) bytes. A
/// diagonal that is not stored counts as 1. If `is_first` is false, the copy has only a later part of each number, so
/// a diagonal that is not stored becomes 0.
void set_rounded_a(Level3& call, RoundingKernel kernel, bool is_first, float* to);

/// An operand that is cut into panels: op(A) into groups of rows, or op(B) into groups of columns. Each panel has the
/// full summed dimension.
struct PanelOperand {
    Matrix stored;
    bool cut_rows = true;     ///< true: a panel is a group of rows of `stored`; false: a panel is a group of columns
    Part part = Part::whole;  ///< the stored triangle, if the factor is symmetric or Hermitian
    bool hermitian = false;
    RoundingKernel kernel{};  ///< rounds the copies

    std::int64_t length() const { return cut_rows ? stored.rows : stored.columns; }
    Matrix panel(std::int64_t first, std::int64_t count) const {
        return cut_rows ? stored.block(first, 0, count, stored.columns) : stored.block(0, first, stored.rows, count);
    }
};

/// Returns the size in bytes of a copy of a panel of `count` rows or columns.
std::size_t panel_bytes(const PanelOperand& factor, std::int64_t count);

/// Returns a rounded copy of a panel. Fills in the missing triangle of a symmetric factor from the stored triangle.
PanelOperand rounded_panel(const PanelOperand& factor, std::int64_t first, std::int64_t count, float* to);

}  // namespace fp32shim::blas
