// Level-3 BLAS by its definition: what the emulation's tests use as the provider's routine, and as the reference.
// Sums are formed in double, in the order of the summed index, and rounded to float32 once per update of C, so that
// the same product gives the same bits whether it is done at once or in blocks of C.
#pragma once

#include "shim/blas/emulate/level3.hpp"

namespace fp32shim::tests {

/// Reads what the BLAS reference reads and writes what it writes, nothing else.
/// Precondition: arguments_are_valid(product), operation != trsm.
void naive_level3(const blas::Level3& product);

}  // namespace fp32shim::tests
