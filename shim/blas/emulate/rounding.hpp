// The loops that round operands, one per instruction set.
#pragma once

#include "shim/blas/emulate/emulate.hpp"
#include "shim/blas/emulate/instruction_set.hpp"

namespace fp32shim::blas {

/// Returns the rounding loop for an instruction set, which the processor must have. NaN and infinities stay. Finite
/// values beyond the largest finite one of the format become infinite, as on the GPU; with tf32_truncate they stay
/// finite. The formats of 8 bits have no infinity: a larger value becomes the largest number. Thread-safe.
RoundingLoop rounding_kernel(OperandRounding rounding, InstructionSet set = best_instruction_set());

/// Returns the random numbers of a product by a seed. They depend on nothing but the seed and the operands, so a run
/// can be repeated whatever its threads do, and equal products have equal results, as they have in every library.
RandomStream random_stream(std::uint64_t seed, const Level3& product);
/// Returns a kernel that rounds up or down at random, each float by a decision of its own, so that the mean over all
/// seeds is the number itself.
RoundingKernel stochastic_kernel(OperandRounding rounding, RandomStream& random);

/// Describes the numbers of a format, each of which is an integer of `fraction_bits` + 1 bits times a power of two.
struct NumberFormat {
    int fraction_bits;
    int lowest_exponent;  ///< lowest exponent of normal numbers
};
NumberFormat number_format_of(OperandRounding rounding);

}  // namespace fp32shim::blas
