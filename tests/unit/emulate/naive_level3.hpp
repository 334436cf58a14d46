// Level-3 BLAS by its definition: the provider's routine and the reference of the emulation's tests.
//
// Sums are formed in double, in the order of the summed index, and rounded to float32 once per update of C, so that
// the same product gives the same bits whether it is done at once or in blocks of C.
//
// The stand-in of cuBLAS (tests/cublas/stand_in/products) has a level 3 of its own, which cannot serve here: it
// copies whole matrices, unused triangles and the gaps between columns included, from memory of a device. This one
// touches single elements in the caller's memory, so that guard pages and NaN show every read and write too many.
#pragma once

#include "shim/level3/level3.hpp"

namespace fp32shim::tests {

/// Reads what the BLAS reference reads and writes what it writes, nothing else.
/// Precondition: arguments_are_valid(product), operation != trsm.
void naive_level3(const blas::Level3& product);

}  // namespace fp32shim::tests
