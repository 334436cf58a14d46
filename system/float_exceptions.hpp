// Flags and traps of floating-point exceptions in the calling thread. Async-signal-safe.
#pragma once

#include <cstdint>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace fp32shim::system {

#if defined(__x86_64__)
/// Returns the flags of the exceptions that vector instructions have raised.
inline std::uint32_t float_flags() { return _mm_getcsr() & _MM_EXCEPT_MASK; }
/// Sets flags that float_flags() has returned, and no other bits.
inline void set_float_flags(std::uint32_t flags) { _mm_setcsr(_mm_getcsr() | flags); }
/// Returns true if an exception would raise SIGFPE.
inline bool has_float_traps() { return (~_mm_getcsr() & _MM_MASK_MASK) != 0; }
#elif defined(__aarch64__)
inline std::uint32_t float_flags() {
    std::uint64_t status = 0;
    asm volatile("mrs %0, fpsr" : "=r"(status));
    return static_cast<std::uint32_t>(status & 0x9f);
}
inline void set_float_flags(std::uint32_t flags) {
    std::uint64_t status = 0;
    asm volatile("mrs %0, fpsr" : "=r"(status));
    asm volatile("msr fpsr, %0" : : "r"(status | flags) : "memory");
}
inline bool has_float_traps() {
    std::uint64_t control = 0;
    asm volatile("mrs %0, fpcr" : "=r"(control));
    return (control & 0x9f00) != 0;
}
#endif

}  // namespace fp32shim::system
