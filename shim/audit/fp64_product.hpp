// Computes a product in double precision, by loops of the shim's own, as the reference for FP32 results. Products of
// two floats are exact in double.
#pragma once

#include <cstddef>
#include <cstdint>

#include "shim/audit/errors.hpp"
#include "shim/level3/level3.hpp"

namespace fp32shim::blas {

/// Returns the number of bytes that multiply_in_fp64() needs; SIZE_MAX on overflow.
std::size_t bytes_for_fp64_product(const Level3& product);

/// Computes `product`. `start` has the values that C (or B of an in-place trmm) had before the call. Returns the
/// result in the layout of `start`. The result lies in `memory`, which needs bytes_for_fp64_product() bytes, aligned
/// to 8. Takes some 2·m·n·k / 2e9 seconds. Precondition: multiplies(product), and the operation is not trsm.
Fp64Matrix multiply_in_fp64(const Level3& product, const Matrix& start, char* memory);

}  // namespace fp32shim::blas
