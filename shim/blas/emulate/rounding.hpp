// The loops that round_operand() runs, one per instruction set.
#pragma once

#include "shim/blas/emulate/emulate.hpp"
#include "shim/blas/emulate/instruction_set.hpp"

namespace fp32shim::blas {

/// Returns the rounding loop for an instruction set, or nullptr if this processor or build lacks the set.
/// Thread-safe.
RoundingLoop rounding_kernel(OperandRounding rounding, InstructionSet set);
RoundingLoop best_rounding_kernel(OperandRounding rounding);

/// Returns a kernel that rounds up or down at random, so that the mean over all seeds is the number itself.
RoundingKernel stochastic_kernel(OperandRounding rounding, std::uint64_t seed);

/// The numbers of a format: an integer of `fraction_bits` + 1 bits, times a power of two.
struct Significand {
    int fraction_bits;
    int lowest_exponent;  ///< of normal numbers
};
Significand significand_of(OperandRounding rounding);

}  // namespace fp32shim::blas
