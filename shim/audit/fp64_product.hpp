// A product in double precision, by loops of our own: what FP32 results are compared with. Products of two floats are
// exact in double.
#pragma once

#include <cstddef>
#include <cstdint>

#include "shim/audit/errors.hpp"
#include "shim/level3/level3.hpp"

namespace fp32shim::blas {

/// Returns the bytes of memory that multiply_in_fp64() needs; SIZE_MAX on overflow.
std::size_t bytes_for_fp64_product(const Level3& product);

/// Computes `product`, on C (or B of a trmm in place) as in `start`. Returns the result, in the layout of `start`,
/// which lies in `memory`: bytes_for_fp64_product() bytes, aligned to 8. Takes some 2·m·n·k / 2e9 seconds.
/// Precondition: multiplies(product), and it is no trsm.
Fp64Matrix multiply_in_fp64(const Level3& product, const Matrix& start, char* memory);

}  // namespace fp32shim::blas
