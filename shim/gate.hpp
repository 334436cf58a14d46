// What the entry points (entry_*.S) call, and what they export to C++.
#pragma once

#include <cstdint>

#include "shim/site.hpp"

namespace fp32shim {

/// The arguments of a call as the entry point saved them: integer-class registers, and beyond them the stack.
struct Frame {
    /// The i-th integer-class argument, as a word: 32-bit values have anything in their upper half.
    std::int64_t word(int i) const {
        const auto* words = reinterpret_cast<const std::int64_t*>(this);
#if defined(__x86_64__)
        return words[i < 6 ? i : i + 1];  // the return address lies between
#else
        return words[i];
#endif
    }

    /// The i-th floating-point argument as float32; i is 0 or 1. Not in the frames of cuBLAS's functions.
    float real(int i) const {
#if defined(__x86_64__)
        return *reinterpret_cast<const float*>(reinterpret_cast<const char*>(this) - 16 * (i + 1));
#else
        return *reinterpret_cast<const float*>(reinterpret_cast<const char*>(this) - 16 * (8 - i));
#endif
    }
};

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

void fp32shim_govern_gate();
void fp32shim_cublas_gate();
void fp32shim_call_on_stack(void (*function)(void*), void* argument, void* stack_top);

extern std::atomic<fp32shim::Site*> fp32shim_site_caches[];  ///< cache_ways per entry index
extern const char fp32shim_slots[];
extern const char fp32shim_slots_end[];
}
