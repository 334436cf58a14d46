// The functions that the entry points (entry/*.S) call, and those that they export to C++.
#pragma once

#include <cstdint>

#include "shim/entry/frame.hpp"
#include "shim/site.hpp"

namespace fp32shim {

struct SiteTable;

/// The end of a call's way through the shim: a result, or a jump.
struct CallOutcome {
    std::int64_t value;  ///< the function's result where it has one
    void* forward_to;    ///< not nullptr: jump there, arguments untouched
};

}  // namespace fp32shim

extern "C" {

fp32shim::Site* fp32shim_find_site(fp32shim::EntryIndex entry, std::uintptr_t return_address);
fp32shim::CallOutcome fp32shim_govern(fp32shim::Site* site, const fp32shim::Frame* frame);
/// Governs a call to a function of cuBLAS: the frame has no floating-point registers.
fp32shim::CallOutcome fp32shim_govern_cublas(fp32shim::Site* site, const fp32shim::Frame* frame);

#if defined(__x86_64__)
/// Returns the size of the vector registers that arguments can arrive in: 16, 32 or 64 bytes. Touches none.
int fp32shim_vector_bytes();
#endif

/// Takes the express lane (blas/express.hpp): counts the call and returns where to jump. Returns nullptr if the call
/// has to be governed. Touches no vector register.
void* fp32shim_express(fp32shim::Site* site, const fp32shim::Frame* frame);

void fp32shim_govern_gate();
void fp32shim_express_gate();
void fp32shim_cublas_gate();

extern std::atomic<fp32shim::SiteTable*> fp32shim_site_tables[];  ///< by EntryIndex; nullptr: no call was seen
extern const char fp32shim_slots[];
extern const char fp32shim_slots_end[];
}
