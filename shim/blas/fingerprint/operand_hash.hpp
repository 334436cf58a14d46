// Hashes what a product read, as it lies in memory: a bit that differs gives another hash. Twice the lanes of a
// result's hash (absorb.hpp), and no sums: a step has to wait for the one before, so more lanes are quicker.
#pragma once

#include <cstddef>
#include <cstdint>

#include "shim/blas/emulate/instruction_set.hpp"

namespace fp32shim::blas {

/// Adds blocks of floats to the 64 lanes.
using OperandKernel = void (*)(std::uint32_t* lanes, const float* floats, std::size_t blocks);
/// Returns the loop for an instruction set, or nullptr if this processor or build lacks one. All give the same bits.
OperandKernel operand_kernel(InstructionSet set);
OperandKernel best_operand_kernel();

/// Hash of floats that arrive in pieces. It does not depend on the pieces, nor on the processor.
class OperandHash {
  public:
    explicit OperandHash(OperandKernel kernel = best_operand_kernel());
    void add(const float* floats, std::size_t count);
    /// Returns the hash, and never 0 for at least one float; 0 without floats. Called once.
    std::uint64_t finish();

    static constexpr std::size_t lane_count = 64;

  private:
    OperandKernel kernel_;
    alignas(64) std::uint32_t lanes_[lane_count];
    alignas(64) float rest_[lane_count];  ///< the last floats, less than a block
    std::size_t rest_count_ = 0;
    std::uint64_t count_ = 0;
};

}  // namespace fp32shim::blas
