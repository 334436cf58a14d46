// Calls of a provider's routine: with the program's own arguments, or with arguments by role.
#pragma once

#include <cstdint>

#include "shim/blas/emulate/emulate.hpp"
#include "shim/blas/emulate/level3.hpp"
#include "shim/entry/frame.hpp"
#include "shim/site.hpp"

namespace fp32shim::blas {

/// A routine of a provider, and the function that says how it takes its arguments. Integers are passed so that
/// both widths read them.
struct BoundRoutine {
    const Function* function = nullptr;
    void* address = nullptr;  ///< nullptr: the provider has none
};

/// Returns the row of the plain gemm of the same dtype and name form, or -1.
FunctionIndex gemm_beside(const Function& function);

/// Calls the site's function with the arguments of `frame`, and returns its result.
std::int64_t call_with_frame(const Site& site, const Frame& frame);

/// Calls `context`, a BoundRoutine, with these arguments; a batch function as a batch of one. Made for Routine::call.
void call_by_role(void* context, const Level3& product);

}  // namespace fp32shim::blas
