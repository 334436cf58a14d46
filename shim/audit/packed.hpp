// Matrices in an audit's own memory, stored without gaps between columns, and absolute values of matrices.
#pragma once

#include <cstddef>

#include "shim/level3/matrix.hpp"

namespace fp32shim::blas {

/// Returns `bytes` rounded up to a multiple of a cache line.
constexpr std::size_t rounded_to_cache_line(std::size_t bytes) {
    constexpr std::size_t line = 64;
    return (bytes + line - 1) / line * line;
}

/// Returns the size in bytes of a matrix stored without gaps, rounded up to a multiple of a cache line.
std::size_t packed_bytes(const Matrix& matrix);

/// Returns a matrix of the size and layout of `like`, stored without gaps at `memory`.
Matrix packed_matrix(const Matrix& like, char* memory);

/// Returns the function that replaces real numbers of the product's type by their absolute values, and complex
/// numbers by their moduli.
RoundingKernel absolute_value_kernel(const Level3& product);
/// Returns the function that replaces numbers of float32 or complex64 by their absolute values, divided by the square
/// root of bound_reduction.
RoundingKernel reduced_absolute_kernel(bool is_complex);

/// Stores the absolute value of the scalar at `from` in `to`, or 0 if `from` is null. `is_pair` is true if the scalar
/// is complex. `to` has room for two numbers of the product's type.
void store_absolute_scalar(const Level3& product, const void* from, bool is_pair, float* to);

}  // namespace fp32shim::blas
