// What the entry points (entry_*.S) call, and what they export to C++.
#pragma once

#include <cstdint>

#include "shim/entry/frame.hpp"
#include "shim/site.hpp"

namespace fp32shim {

struct SiteTable;

/// What a governed call comes to.
struct Outcome {
    std::int64_t value;  ///< the function's result where it has one
    void* forward_to;    ///< not nullptr: jump there, arguments untouched
};

}  // namespace fp32shim

extern "C" {

fp32shim::Site* fp32shim_find_site(fp32shim::EntryIndex entry, std::uintptr_t return_address);
fp32shim::Outcome fp32shim_govern(fp32shim::Site* site, const fp32shim::Frame* frame);
/// Of functions of cuBLAS: the frame has no floating-point registers.
fp32shim::Outcome fp32shim_govern_cublas(fp32shim::Site* site, const fp32shim::Frame* frame);

#if defined(__x86_64__)
/// Size of the vector registers that arguments can arrive in: 16, 32 or 64 bytes. Touches none.
int fp32shim_vector_bytes();
#endif

/// The express lane (shim/express_lane.hpp): counts the call and says where to jump; nullptr: the call has to be
/// governed. Touches no vector register.
void* fp32shim_express(fp32shim::Site* site, const fp32shim::Frame* frame);

void fp32shim_govern_gate();
void fp32shim_express_gate();
void fp32shim_cublas_gate();
void fp32shim_call_on_stack(void (*function)(void*), void* argument, void* stack_top);

extern std::atomic<fp32shim::SiteTable*> fp32shim_site_tables[];  ///< by entry index; nullptr: no call was seen
extern const char fp32shim_slots[];
extern const char fp32shim_slots_end[];
}
