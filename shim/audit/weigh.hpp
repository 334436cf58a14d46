// Weighs the errors of an audit against FP32: how much the terms of the result cancel, how far FP32 itself is from a
// product in double precision, and whether the FP32 result is more than noise.
#pragma once

#include "record/audit.hpp"
#include "shim/audit/errors.hpp"
#include "shim/audit/fp64_product.hpp"

namespace fp32shim::blas {

/// Stores the errors of one product in `audit`, and weighs them. `product` and `start`: as for multiply_in_fp64().
/// `memory` needs bytes_for_line() bytes, aligned to 8. Takes as long as some ten rows of the product in double
/// precision.
void store_weighed(const ErrorSums& sums, const Level3& product, const Matrix& start, const Results& results,
                   char* memory, record::Audit& audit);

/// Stores the errors of one product in `audit`, and how much its terms cancel.
void store_unweighed(const ErrorSums& sums, record::Audit& audit);

}  // namespace fp32shim::blas
