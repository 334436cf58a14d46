// Calling a provider's routine: with the program's own arguments, or with arguments by role.
#pragma once

#include <cstdint>

#include "shim/blas/emulate.hpp"
#include "shim/blas/level3.hpp"
#include "shim/gate.hpp"
#include "shim/site.hpp"

namespace fp32shim::blas {

/// A routine of a provider and how it wants its arguments.
struct BoundRoutine {
    const Function* function = nullptr;
    void* address = nullptr;  ///< nullptr: the provider has none
    IntegerWidth width = IntegerWidth::bits32;
};

/// Calls the site's function with the arguments of `frame`, and returns what it returns.
std::int64_t call_with_frame(const Site& site, const Frame& frame);

/// Calls `context` (a BoundRoutine) with these arguments: a batch function as a batch of one. For `Routine`.
void call_by_role(void* context, const Level3& product);

/// The plain gemm of the site's provider, under the same name form (`scipy_cblas_ssyrk64_` → `scipy_cblas_sgemm64_`).
BoundRoutine gemm_beside(const Site& site);

/// The name of the plain gemm of the same form: its row in the table, or -1.
FunctionIndex gemm_row_of(const Function& function);

}  // namespace fp32shim::blas
