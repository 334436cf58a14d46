// Formats that take float32 apart: an operand becomes a sum of parts, A = A1 + A2 (+ A3). A1 is A rounded, A2 the
// rest rounded, and so on. The product is a sum of products of parts.
#pragma once

#include <span>

#include "shim/blas/emulate/rounding.hpp"

namespace fp32shim::blas {

/// One product of rounded operands.
struct RoundedProduct {
    RoundingKernel round_a;
    RoundingKernel round_b;
    bool has_first_of_a = true;  ///< A's first part, which has the 1 of a unit diagonal; the others have 0
};

/// Returns the products whose sum a format computes, smallest first; none for a format that only rounds. Infinities
/// and NaN are in the last, largest one only, and 0 in the others: infinity times 0, the rest of a number that has
/// none, would make NaN of every infinity.
std::span<const RoundedProduct> products_of_parts(Preview preview);

}  // namespace fp32shim::blas
