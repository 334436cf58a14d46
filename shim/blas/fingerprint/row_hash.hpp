// Adds up hashes of the rows of a result. The sum depends on the bits of each row and on their positions in the row,
// but not on the order of the rows, nor on how the rows are divided into calls. So two runs with different batch
// sizes can be compared.
#pragma once

#include <cstddef>
#include <cstdint>

#include "shim/blas/emulate/instruction_set.hpp"

namespace fp32shim::blas {

/// Returns the sum of the hashes of `rows` rows of `length` floats. Each row begins `stride` floats after the
/// previous one.
using RowHashKernel = std::uint32_t (*)(const float* floats, std::size_t length, std::size_t rows,
                                        std::ptrdiff_t stride);
/// Returns the loop for an instruction set, which the processor must have. All loops give the same bits.
RowHashKernel row_hash_kernel(InstructionSet set = best_instruction_set());

/// Returns the hash of one row whose elements, of `width` floats, are not adjacent but `stride` floats apart.
std::uint32_t strided_row_hash(const float* first, std::size_t elements, std::size_t width, std::ptrdiff_t stride);

}  // namespace fp32shim::blas
