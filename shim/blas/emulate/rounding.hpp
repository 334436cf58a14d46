// The loops that round operands, compiled for each instruction set, and the products of parts for formats that split
// numbers.
#pragma once

#include <span>

#include "shim/blas/emulate/emulate.hpp"
#include "shim/blas/emulate/instruction_set.hpp"

namespace fp32shim::blas {

/// Returns the rounding loop for an instruction set, which the processor must have. The loop leaves NaN as it is.
/// Infinities stay, and finite values beyond the format's largest finite number become infinite, as on the GPU; with
/// tf32_truncate these values stay finite. The 8-bit formats have no infinity: all larger values become the largest
/// number. Thread-safe.
RoundingLoop rounding_kernel(OperandRounding rounding, InstructionSet set = best_instruction_set());

/// Returns the random numbers for rounding a product, given a seed. They depend only on the seed and the operands, so
/// a run can be repeated whatever its threads do. Equal products also have equal results, as they have in every
/// library.
RandomStream random_stream(std::uint64_t seed, const Level3& product);
/// Returns a kernel that rounds each float up or down at random, independently of other floats, so that the mean over
/// all seeds is the number itself.
RoundingKernel stochastic_kernel(OperandRounding rounding, RandomStream& random);

/// Describes the numbers of a format, each of which is an integer of `fraction_bits` + 1 bits times a power of two.
struct NumberFormat {
    int fraction_bits;
    int lowest_exponent;  ///< lowest exponent of normal numbers
};
NumberFormat number_format_of(OperandRounding rounding);

// Some formats split float32 numbers, so that an operand becomes a sum of parts, A = A1 + A2 (+ A3). A1 is A rounded,
// A2 is the rounded difference A - A1, and so on. The product is then a sum of products of parts.

/// One product of rounded operands: the functions that round A and B.
struct RoundedProduct {
    RoundingKernel round_a;
    RoundingKernel round_b;
    bool has_first_of_a = true;  ///< true if the product has A's first part, in which a unit diagonal is 1; in other
                                 ///< parts it is 0
};

/// Returns the products whose sum a format computes, the smallest first. The list is empty for a format that only
/// rounds. Infinities and NaN appear only in the last, largest product, and are replaced by 0 in the other products.
/// Otherwise infinity times 0 would turn every infinity into NaN, since the later parts of a number that needs no
/// rounding are 0.
std::span<const RoundedProduct> products_of_parts(Preview preview);

}  // namespace fp32shim::blas
