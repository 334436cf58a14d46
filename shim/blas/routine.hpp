// Calls routines of a BLAS library (the provider), with the program's own arguments or with arguments by role. Also
// tests how the provider's functions take integers and return numbers.
#pragma once

#include <cstdint>

#include "shim/blas/emulate/emulate.hpp"
#include "shim/entry/frame.hpp"
#include "shim/entry/site.hpp"
#include "shim/level3/level3.hpp"
#include "shim/loader/loaded_object.hpp"

namespace fp32shim::blas {

/// A routine of the provider, and its row in the function table (shim/table/functions.hpp), which gives its calling
/// convention and argument order. Integers are passed so that the routine may read 32 or 64 bits.
struct ProviderRoutine {
    const Function* function = nullptr;
    void* address = nullptr;  ///< nullptr: the library has no such routine
};

/// Returns the index, in the function table, of the plain gemm of the same dtype and name form: `cblas_sgemm64_` for
/// `cblas_ssyrk64_`. Returns -1 if there is none.
FunctionIndex gemm_of_same_type(const Function& function);

/// Returns the index, in the function table, of the float32 (or complex64) function that takes the same arguments as
/// a float64 (or complex128) function: `cblas_sgemm` for `cblas_dgemm`. Returns -1 if there is none.
FunctionIndex float32_counterpart(const Function& function);

/// Calls the function of the call site with the arguments in `frame`, and returns its result. A number that the
/// function returns in vector registers is stored in `frame` instead.
std::int64_t call_with_frame(const Site& site, Frame& frame);

/// The provider's routines that can run a call's products.
struct RoutineSet {
    ProviderRoutine same;  ///< the routine that the program called, or the routine that replaces a batch function
    ProviderRoutine gemm;
    ProviderRoutine float32;  ///< the float32 routine that corresponds to the called float64 function
    ProviderRoutine float32_gemm;
};
RoutineSet routines_of(const Site& site);

/// Emulates a product through the provider's routines. Precondition: if `preview.in_float32` is true,
/// `routines.float32` has an address.
EmulationResult emulate_with_routines(const RoutineSet& routines, const Level3& product, Preview preview);

/// Calls the ProviderRoutine at `context` with the arguments in `product`. Calls a batch function with a batch of one
/// product. Has the type of Routine::call.
void call_by_role(void* context, const Level3& product);

/// Tests once how wide a library's integers are, by a level-1 routine that behaves differently for each width. The
/// library's name does not tell the width: Debian's libopenblas64 exports unsuffixed names with 64-bit integers, and
/// MKL's libmkl_rt decides at run time.
IntegerWidth probe_integer_width(LoadedObject& library, const Function& function);

/// Tests how functions of a library return complex numbers, by a dot product of vectors without elements. `address`
/// is the address of a function that returns a complex number (Function::returns_complex).
void probe_complex_results(LoadedObject& library, void* address);

/// Tests how functions of a library return float32 numbers. `address` is the address of a norm or dot product, which
/// is called with vectors that have the number 1 as their only element.
void probe_real_results(LoadedObject& library, void* address);

/// Returns the number of threads that the library would use now for a large product. Asks a function of the library,
/// or of a library that it needs. Returns 1 if there is no function to ask. Thread-safe, calls no `dl*` function.
int library_thread_count(const LoadedObject& library);

}  // namespace fp32shim::blas
