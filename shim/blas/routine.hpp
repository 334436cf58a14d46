// Calls routines of a provider, with the program's own arguments or with arguments by role. Also tests how the
// provider's functions take integers and return numbers.
#pragma once

#include <cstdint>

#include "shim/blas/emulate/emulate.hpp"
#include "shim/entry/frame.hpp"
#include "shim/entry/site.hpp"
#include "shim/level3/level3.hpp"
#include "shim/loader/loaded_object.hpp"

namespace fp32shim::blas {

/// A routine of the library, with the row of the function table that gives its calling convention and argument order.
/// Integers are passed in a form that the routine may read with 32 or 64 bits.
struct ProviderRoutine {
    const Function* function = nullptr;
    void* address = nullptr;  ///< nullptr: the library has no such routine
};

/// Returns the index of the row of the plain gemm of the same dtype: `cblas_sgemm64_` for `cblas_ssyrk64_`. Returns
/// -1 if there is none.
FunctionIndex gemm_of_same_type(const Function& function);

/// Returns the index of the row for float32 (complex64) of a function of float64 (complex128), which takes the same
/// arguments: `cblas_sgemm` for `cblas_dgemm`. Returns -1 if there is none.
FunctionIndex float32_counterpart(const Function& function);

/// Calls the site's function with the arguments of `frame`, and returns its result. A number that the function
/// returns in vector registers goes into `frame` instead.
std::int64_t call_with_frame(const Site& site, Frame& frame);

/// The provider's routines that can run a call's products.
struct RoutineSet {
    ProviderRoutine same;  ///< the routine that the program called, or its stand-in
    ProviderRoutine gemm;
    ProviderRoutine float32;  ///< the routine for float32 that belongs to a float64 function
    ProviderRoutine float32_gemm;
};
RoutineSet routines_of(const Site& site);

/// Emulates a product by the provider's routines. If `preview.in_float32` is true, RoutineSet::float32 must have an
/// address.
EmulationResult emulate_with_routines(const RoutineSet& routines, const Level3& product, Preview preview);

/// Calls the ProviderRoutine at `context` with these arguments. Calls a batch function with a batch of one. Has the
/// type of Routine::call.
void call_by_role(void* context, const Level3& product);

/// Tests once how wide a library's integers are, by a level-1 routine that behaves differently for each width. The
/// library's name does not tell: Debian's libopenblas64 exports unsuffixed names with 64-bit integers, and MKL's
/// libmkl_rt decides at run time.
IntegerWidth probe_integer_width(LoadedObject& library, const Function& function);

/// Tests how functions of a library return complex numbers, by a dot product of no elements. `address` is that of
/// one of these functions (Function::returns_complex).
void probe_complex_results(LoadedObject& library, void* address);

/// Tests how functions of a library return real numbers of float32. `address` is that of a norm or dot product,
/// which is called with the vector (1).
void probe_real_results(LoadedObject& library, void* address);

/// Returns the number of threads that the library would use now for a large product. Asks a function of the library,
/// or of one that it needs, for that; returns 1 if there is no such function. Thread-safe, calls no `dl*` function.
int library_thread_count(const LoadedObject& library);

}  // namespace fp32shim::blas
