// Formats that split float32 numbers: an operand becomes a sum of parts, A = A1 + A2 (+ A3). A1 is A rounded, A2 is
// the rounded rest, and so on. The product is a sum of products of parts.
#pragma once

#include <span>

#include "shim/blas/emulate/rounding.hpp"

namespace fp32shim::blas {

/// One product of rounded operands: the functions that round A and B.
struct RoundedProduct {
    RoundingKernel round_a;
    RoundingKernel round_b;
    bool has_first_of_a = true;  ///< uses A's first part, in which a unit diagonal is 1; in the other parts it is 0
};

/// Returns the products whose sum a format computes, smallest first; none for a format that only rounds. Infinities
/// and NaN appear in the last, largest product only, and are 0 in the others. Otherwise infinity times 0 would turn
/// every infinity into NaN: the later parts of a number that needs no rounding are 0.
std::span<const RoundedProduct> products_of_parts(Preview preview);

}  // namespace fp32shim::blas
