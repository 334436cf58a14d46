// The loops that round_operand() runs, one per instruction set.
#pragma once

#include "shim/blas/emulate/emulate.hpp"
#include "shim/blas/emulate/instruction_set.hpp"

namespace fp32shim::blas {

/// Returns the rounding loop for an instruction set, or nullptr if this processor or build lacks the set.
/// Thread-safe.
RoundingKernel rounding_kernel(OperandRounding rounding, InstructionSet set);
RoundingKernel best_rounding_kernel(OperandRounding rounding);

}  // namespace fp32shim::blas
