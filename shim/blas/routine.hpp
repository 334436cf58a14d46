// Calls of a provider's routine, with the program's own arguments or with arguments by role, and the width of its
// integers.
#pragma once

#include <cstdint>

#include "shim/blas/emulate/emulate.hpp"
#include "shim/entry/frame.hpp"
#include "shim/entry/site.hpp"
#include "shim/level3/level3.hpp"
#include "shim/loader/loaded_object.hpp"

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

/// Asks a library once how wide its integers are, by a level-1 routine that behaves differently for each width. Its
/// name does not say: Debian's libopenblas64 exports unsuffixed names with 64-bit integers, and MKL's libmkl_rt
/// decides at run time.
IntegerWidth integer_width(LoadedObject& library, const Function& function);

}  // namespace fp32shim::blas
