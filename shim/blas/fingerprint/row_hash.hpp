// Adds up hashes of the rows of a result. The sum depends on the bits of each row and on their places in it, but not
// on the order of the rows, nor on how they are divided into calls. So two runs with other batches can be compared.
#pragma once

#include <cstddef>
#include <cstdint>

#include "shim/blas/emulate/instruction_set.hpp"

namespace fp32shim::blas {

/// Returns the sum of the hashes of rows of `length` floats, of which each begins `stride` floats after the one
/// before.
using RowKernel = std::uint32_t (*)(const float* floats, std::size_t length, std::size_t rows, std::ptrdiff_t stride);
/// Returns the loop for an instruction set, or for the next simpler one that this processor and build have. All loops
/// give the same bits.
RowKernel row_kernel(InstructionSet set = InstructionSet::avx512);

/// Returns the hash of one row whose elements, of `width` floats, do not lie side by side.
std::uint32_t hash_of_row(const float* first, std::size_t elements, std::size_t width, std::ptrdiff_t stride);

}  // namespace fp32shim::blas
