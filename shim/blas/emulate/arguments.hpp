// The argument checks of the BLAS and CBLAS reference. If implementations differ, the shim uses the strictest check.
// It forwards a call that fails a check unchanged, so that the library reports the error.
#pragma once

#include "shim/level3/level3.hpp"

namespace fp32shim::blas {

/// Returns false if the BLAS reference would report an argument of this product through `xerbla`.
bool arguments_are_valid(const Level3& product);

/// Returns true if the product multiplies anything: no size is zero, alpha is not zero, and no pointer is null.
bool multiplies(const Level3& product);

}  // namespace fp32shim::blas
