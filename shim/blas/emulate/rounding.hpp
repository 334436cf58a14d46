// The loops behind `round_operand`, one per instruction set. emulate.cpp takes the best once per call, tests take
// each.
#pragma once

#include <cstddef>
#include <cstdint>

#include "shim/blas/emulate/emulate.hpp"

namespace fp32shim::blas {

enum class InstructionSet : std::uint8_t { plain, avx2, avx512, neon };

/// Returns the rounding loop for an instruction set; nullptr if this processor or build lacks it. Thread-safe.
/// Precondition: the format takes no number apart.
RoundingKernel rounding_kernel(OperandRounding rounding, InstructionSet set);
RoundingKernel best_rounding_kernel(OperandRounding rounding);

}  // namespace fp32shim::blas
