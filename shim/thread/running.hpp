// Inner calls: those that a library makes to compute a product that the program asked it for. They are forwarded
// and not counted.
#pragma once

#include "shim/entry/frame.hpp"
#include "shim/entry/site.hpp"

namespace fp32shim {

/// The outermost product that this thread is computing. A library that multiplies by calling itself (reference CBLAS
/// calls `sgemm_`) comes back through the shim's entry points.
///
/// Kept by value and without destructor, since xerbla_ may throw or longjmp past the shim. A value left behind by
/// such a jump is known by its frame: a call within a running product has a lower frame address than the product.
struct Running {
    LoadedObject* provider;
    LoadedObject* delegate;  ///< the library that the provider has passed its work on to, by an inner call
    const Frame* frame;
};

__attribute__((tls_model("initial-exec"))) extern constinit thread_local Running running;

/// Returns true if this call is made within a product that is running on this thread.
bool is_inner(const Site& site, const Frame* frame);

/// Returns the library that this thread's product is running in: the delegate, else the provider; nullptr outside
/// every product.
LoadedObject* running_library();

}  // namespace fp32shim
