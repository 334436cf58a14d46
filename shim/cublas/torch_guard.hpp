// Support for PyTorch's at::NoTF32Guard. While such an object exists (in pinv, batched LU, the gradient of SVD),
// PyTorch keeps float32 on this thread, whatever the program allows elsewhere.
#pragma once

#include "shim/entry/site.hpp"

namespace fp32shim::cublas {

/// Looks up PyTorch's function that tells whether a thread is inside the guard. Does nothing if the caller of this
/// new call site is not a library of PyTorch.
void find_torch_guard(const Site& site);

/// Returns true if calls from this call site may be made inside the guard.
bool may_be_guarded(const Site& site);

/// Returns true if the calling thread is inside the guard. Precondition: may_be_guarded(site).
bool is_inside_torch_guard();

}  // namespace fp32shim::cublas
