// Matrices in an audit's own memory: without gaps between columns, and their absolute values.
#pragma once

#include <cstddef>

#include "shim/level3/matrix.hpp"

namespace fp32shim::blas {

/// Returns `bytes` as a multiple of a cache line.
constexpr std::size_t rounded_up(std::size_t bytes) {
    constexpr std::size_t line = 64;
    return (bytes + line - 1) / line * line;
}

/// Returns the bytes of a matrix without gaps, a multiple of a cache line.
std::size_t packed_bytes(const Matrix& matrix);

/// Returns a matrix of the size and layout of `like`, without gaps, at `memory`.
Matrix packed(const Matrix& like, char* memory);

/// Copies the elements of `part`.
void copy_elements(const Matrix& from, Part part, const Matrix& to);

/// Returns the loop that replaces numbers by their absolute values, complex ones by their moduli.
RoundingKernel absolute_values(bool is_complex);

/// Stores the absolute value of a scalar, a complex one if `is_pair`, in `to`; 0 if there is none.
void store_absolute_scalar(const void* from, bool is_pair, float (&to)[2]);

}  // namespace fp32shim::blas
