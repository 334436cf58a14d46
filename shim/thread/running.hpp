// Inner calls: what a library does to get a product done that the program asked it for. They are forwarded and not
// counted.
#pragma once

#include "shim/entry/frame.hpp"
#include "shim/site.hpp"

namespace fp32shim {

/// The outermost product that this thread is inside of. A library that multiplies by calling itself (reference
/// CBLAS calls `sgemm_`) comes back through our entry points.
///
/// Kept by value and without destructor, since xerbla_ may throw or longjmp past us. What is then left behind is
/// recognised by its frame: a product that is still running has its frame above that of any call it makes.
struct Running {
    LoadedObject* provider;
    LoadedObject* delegate;  ///< the library that the provider passed its work on to, through an inner call
    const Frame* frame;
};

__attribute__((tls_model("initial-exec"))) extern constinit thread_local Running running;

/// Whether this call belongs to a product that is running on this thread.
bool is_inner(const Site& site, const Frame* frame);

/// The library that a product of this thread is running in: the one that we called, or the one that it passed its
/// work on to; nullptr outside every product.
LoadedObject* running_library();

}  // namespace fp32shim
