// Level-3 BLAS by its definition, for the emulation's tests: the provider's routine and the reference.
//
// Sums are formed in double, in the order of the summed index, and rounded to C's type once per update of C. So the
// same product gives the same bits if it is done at once or in blocks of C.
//
// The stand-in of cuBLAS (tests/cublas/stand_in/products) has another level 3, which cannot serve here: it copies
// whole matrices from a device's memory, with unused triangles and gaps between columns. The code here accesses
// single elements in the caller's memory, so that guard pages and NaN reveal every wrong access.
#pragma once

#include "shim/level3/level3.hpp"

namespace fp32shim::tests {

/// Reads exactly what the BLAS reference reads, and writes exactly what it writes. Precondition:
/// arguments_are_valid(product), operation != trsm.
void naive_level3(const blas::Level3& product);

}  // namespace fp32shim::tests
