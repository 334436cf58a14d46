// Rounds the operands of a float64 product as libraries do that emulate it by products of integers (the scheme of
// Ozaki et al., "Error-free transformations of matrix multiplication by using fast routines of matrix multiplication
// and its applications", 2012; cuBLAS's `CUBLAS_COMPUTE_64F_EMULATED_FIXEDPOINT`): each row of the left factor, and
// each column of the right one, becomes fixed-point numbers with one common unit.
#pragma once

#include "shim/level3/matrix.hpp"

namespace fp32shim::blas {

/// Rounds each line of a float64 matrix in place: to multiples of 2^(e + 1 - bits), where e = floor(log2|x|) of the
/// line's largest number, to nearest with ties to even. A line is a row, or a column. Of a triangle, only `part` is
/// read and written. `counts_ones`: the diagonal is not stored and counts as 1, so it is neither read nor written. A
/// line with NaN or infinity stays as it is. Uses no floating-point arithmetic. Thread-safe, allocates nothing.
void round_to_fixed_point(const Matrix& matrix, Part part, bool lines_are_rows, bool counts_ones, int bits);

}  // namespace fp32shim::blas
