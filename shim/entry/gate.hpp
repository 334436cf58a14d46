// Declares the C++ functions that the assembly of the entry points (entry/*.S) calls, and the symbols that the
// assembly exports to C++.
#pragma once

#include <cstdint>

#include "shim/entry/frame.hpp"
#include "shim/entry/site.hpp"

namespace fp32shim {

struct SiteTable;

/// The outcome of a call that the shim has handled: the function's result, or an address to jump to.
struct CallOutcome {
    /// The function's result, if it has one; a result of a floating-point type is in the frame instead.
    std::int64_t value;
    void* forward_to;  ///< if this is not nullptr, the gate jumps there with the arguments unchanged
};

}  // namespace fp32shim

extern "C" {

fp32shim::Site* fp32shim_find_site(fp32shim::EntryIndex entry, std::uintptr_t return_address);
fp32shim::CallOutcome fp32shim_govern(fp32shim::Site* site, fp32shim::Frame* frame);
/// Handles a call of a function of cuBLAS or the CUDA driver. `frame` contains no floating-point registers.
fp32shim::CallOutcome fp32shim_govern_cublas(fp32shim::Site* site, fp32shim::Frame* frame);

#if defined(__x86_64__)
/// Returns the size of the vector registers in which arguments can arrive: 16, 32 or 64 bytes. Does not change vector
/// registers.
int fp32shim_vector_bytes();
#endif

/// Counts a call that needs no decision of its own (blas/govern/express.hpp), and returns the address to jump to.
/// Returns nullptr if the call needs a decision. Does not touch vector registers.
void* fp32shim_express(fp32shim::Site* site, const fp32shim::Frame* frame);

/// Returns the address to which the loader binds a reference to the function's name: the entry point, a library's own
/// variable of this name, or nullptr (shim/sites/missing_names.cpp).
void* fp32shim_resolve(fp32shim::FunctionIndex function);

void fp32shim_govern_gate();
void fp32shim_express_gate();
void fp32shim_cublas_gate();

/// The table of call sites of each entry point, by EntryIndex; nullptr if the entry point has none yet.
extern std::atomic<fp32shim::SiteTable*> fp32shim_site_tables[];
/// The entry points of the functions in the table, in the order of FunctionIndex.
extern const char fp32shim_entries[];
extern const char fp32shim_resolvers[];  ///< the resolvers of the functions' names, see shim/sites/missing_names.cpp
extern const char fp32shim_dlsym_entries[];
extern const char fp32shim_dlsym_entries_end[];
}
