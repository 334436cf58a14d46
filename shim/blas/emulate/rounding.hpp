// The loops behind `round_operand`, one per instruction set.
#pragma once

#include "shim/blas/emulate/emulate.hpp"
#include "shim/blas/emulate/instruction_set.hpp"

namespace fp32shim::blas {

/// Returns the rounding loop for an instruction set; nullptr if this processor or build lacks it. Thread-safe.
RoundingKernel rounding_kernel(OperandRounding rounding, InstructionSet set);
RoundingKernel best_rounding_kernel(OperandRounding rounding);

}  // namespace fp32shim::blas
