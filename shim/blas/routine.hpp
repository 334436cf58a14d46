// Calls of a provider's routine: with the program's own arguments, or with arguments by role.
#pragma once

#include <cstdint>

#include "shim/blas/emulate/emulate.hpp"
#include "shim/entry/frame.hpp"
#include "shim/entry/site.hpp"
#include "shim/level3/level3.hpp"

namespace fp32shim::blas {

/// A routine of the library, and the function table's row with its calling convention and argument order. Integers
/// are passed so that the routine may read them with 32 or with 64 bits.
struct BoundRoutine {
    const Function* function = nullptr;
    void* address = nullptr;  ///< nullptr: the library has no such routine
};

/// Returns the table's row of the plain gemm of the same dtype: `cblas_sgemm64_` for `cblas_ssyrk64_`; -1: none.
FunctionIndex gemm_beside(const Function& function);

/// Calls the site's function with the arguments of `frame`, and returns its result.
std::int64_t call_with_frame(const Site& site, const Frame& frame);

/// Calls the BoundRoutine at `context` with these arguments; a batch function with a batch of one. For Routine::call.
void call_by_role(void* context, const Level3& product);

}  // namespace fp32shim::blas
