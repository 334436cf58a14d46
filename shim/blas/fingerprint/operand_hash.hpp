// Hashes the operands of a product as they lie in memory, so that operands that differ in a bit have different
// hashes. A lane hashes every 64th float; the hash of a result (fingerprint_kernels.hpp) has only 32 lanes. Each step
// of a lane waits for the lane's previous step, so more lanes are quicker.
#pragma once

#include <cstddef>
#include <cstdint>

#include "shim/blas/emulate/instruction_set.hpp"
#include "shim/blas/fingerprint/fingerprint_kernels.hpp"

namespace fp32shim::blas {

/// Adds blocks of floats to the 64 lanes.
using OperandHashKernel = void (*)(std::uint32_t* lanes, const float* floats, std::size_t blocks);
/// Returns the loop for an instruction set, which the processor must have. All loops give the same bits.
OperandHashKernel operand_hash_kernel(InstructionSet set = best_instruction_set());

/// Hashes floats that arrive in pieces. The hash depends neither on the pieces nor on the processor.
class OperandHash {
  public:
    explicit OperandHash(OperandHashKernel kernel = operand_hash_kernel());
    void add(const float* floats, std::size_t count);
    /// Returns the hash, which is 0 only if no floats were added. Must be called only once.
    std::uint64_t finish();

    static constexpr std::size_t lane_count = 64;

  private:
    OperandHashKernel kernel_;
    alignas(64) std::uint32_t lanes_[lane_count];
    BlockSplitter<lane_count> splitter_;
    std::uint64_t count_ = 0;
};

}  // namespace fp32shim::blas
