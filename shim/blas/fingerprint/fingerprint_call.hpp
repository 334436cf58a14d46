// Computes the fingerprint of a call to a CPU library from all elements that its products wrote, and hashes of the
// elements that they read.
#pragma once

#include <optional>

#include "record/fingerprint.hpp"
#include "shim/blas/plan.hpp"
#include "shim/blas/product.hpp"

namespace fp32shim::blas {

/// Returns the fingerprint of a call's result after the call ran, or nullopt if nothing was multiplied. Reads only
/// the result.
std::optional<record::Fingerprint> fingerprint_call(const Site& site, const Frame& frame, const Product& product);

/// Returns hashes of the operands of a call that is about to run. Reads only the numbers that the routine reads, and
/// the imaginary parts of a Hermitian diagonal, which the routine does not read but takes as 0.
record::OperandHashes hash_operands(const Site& site, const Frame& frame, const Product& product);

}  // namespace fp32shim::blas
