// Weighs the errors of an audit against the product in its own type: how much the terms of the result cancel, how far
// that product itself is from one of more digits, and whether it is more than noise.
#pragma once

#include "record/audit.hpp"
#include "shim/audit/errors.hpp"
#include "shim/audit/reference_product.hpp"

namespace fp32shim::blas {

/// Stores the errors of one product in `audit`, and weighs them. `product` and `start`: as for
/// multiply_for_reference(). `memory` needs bytes_for_line() bytes, aligned to 8. Takes as long as some ten rows of
/// the reference. Precondition: fits_reference().
void store_weighed(const ErrorSums& sums, const Level3& product, const Matrix& start, const Results& results,
                   char* memory, record::Audit& audit);

/// Stores the errors of one product in `audit`, and how much its terms cancel.
void store_unweighed(const ErrorSums& sums, record::Audit& audit);

}  // namespace fp32shim::blas
