// Recognises inner calls, which a provider (the BLAS library of a call) makes while it computes a product. The shim
// forwards inner calls and does not count them.
#pragma once

#include "policy/precision.hpp"
#include "shim/entry/frame.hpp"
#include "shim/entry/site.hpp"

namespace fp32shim {

/// The outermost product that this thread is computing. A library that multiplies by calling another of its functions
/// enters the shim again. For example, reference CBLAS calls `sgemm_`.
///
/// The object is stored by value and has no destructor, because xerbla_ may throw or longjmp past the shim. A value
/// that such a jump left behind is recognised by its frame, because a call inside a running product has a lower frame
/// address than the product.
struct RunningProduct {
    LoadedObject* provider;
    LoadedObject* delegate;  ///< the library to which the provider passed its work on by an inner call
    const Frame* frame;
};

__attribute__((tls_model("initial-exec"))) extern constinit thread_local RunningProduct running;

/// Returns true if this call is made inside a product that is running on this thread.
bool is_inner_call(const Site& site, const Frame* frame);

/// Notes the lowest format in which the product that this thread is about to run may be computed.
void note_permitted_format(const Frame& product, policy::AppliedFormat lowest);

/// Returns the format that note_permitted_format() noted for a product of this thread; fp32 if none was noted.
policy::AppliedFormat permitted_format(const Frame& product);

/// Returns the library in which this thread's product is running: the delegate if there is one, otherwise the
/// provider. Returns nullptr if no product is running.
LoadedObject* running_library();

}  // namespace fp32shim
