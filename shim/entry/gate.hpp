// The functions that the entry points (entry/*.S) call, and those that they export to C++.
#pragma once

#include <cstdint>

#include "shim/entry/frame.hpp"
#include "shim/entry/site.hpp"

namespace fp32shim {

struct SiteTable;

/// The outcome of a call in the shim: the function's result, or an address to jump to.
struct CallOutcome {
    std::int64_t value;  ///< the function's result if it has one
    void* forward_to;    ///< not nullptr: jump there, arguments untouched
};

}  // namespace fp32shim

extern "C" {

fp32shim::Site* fp32shim_find_site(fp32shim::EntryIndex entry, std::uintptr_t return_address);
fp32shim::CallOutcome fp32shim_govern(fp32shim::Site* site, const fp32shim::Frame* frame);
/// Handles a call to a function of cuBLAS. Its frame has no floating-point registers.
fp32shim::CallOutcome fp32shim_govern_cublas(fp32shim::Site* site, const fp32shim::Frame* frame);

#if defined(__x86_64__)
/// Returns the size of the vector registers that arguments can arrive in: 16, 32 or 64 bytes. Touches none.
int fp32shim_vector_bytes();
#endif

/// Counts a call that needs no decision of its own (blas/govern/express.hpp), and returns where to jump. Returns
/// nullptr if the call needs one. Touches no vector register.
void* fp32shim_express(fp32shim::Site* site, const fp32shim::Frame* frame);

void fp32shim_govern_gate();
void fp32shim_express_gate();
void fp32shim_cublas_gate();

extern std::atomic<fp32shim::SiteTable*> fp32shim_site_tables[];  ///< call sites, by EntryIndex; nullptr: none yet
extern const char fp32shim_dlsym_entries[];
extern const char fp32shim_dlsym_entries_end[];
}
