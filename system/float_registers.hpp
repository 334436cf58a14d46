// The floating-point registers of the calling thread: its settings (rounding, subnormal numbers, traps) and the flags
// of exceptions. Async-signal-safe.
#pragma once

#include <cstdint>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace fp32shim::system {

#if defined(__x86_64__)
// MXCSR, the register of SSE and AVX, has both settings and flags.
using FloatRegister = std::uint32_t;
inline FloatRegister float_settings() { return _mm_getcsr(); }
inline void set_float_settings(FloatRegister value) { _mm_setcsr(value); }
inline FloatRegister float_status() { return _mm_getcsr(); }
inline void set_float_status(FloatRegister value) { _mm_setcsr(value); }
constexpr FloatRegister without_float_traps(FloatRegister settings) { return settings | 0x1f80; }
constexpr FloatRegister float_flag_bits = 0x3f;
#elif defined(__aarch64__)
using FloatRegister = std::uint64_t;
inline FloatRegister float_settings() {
    FloatRegister value = 0;
    asm volatile("mrs %0, fpcr" : "=r"(value));
    return value;
}
inline void set_float_settings(FloatRegister value) { asm volatile("msr fpcr, %0" : : "r"(value) : "memory"); }
inline FloatRegister float_status() {
    FloatRegister value = 0;
    asm volatile("mrs %0, fpsr" : "=r"(value));
    return value;
}
inline void set_float_status(FloatRegister value) { asm volatile("msr fpsr, %0" : : "r"(value) : "memory"); }
constexpr FloatRegister without_float_traps(FloatRegister settings) { return settings & ~FloatRegister{0x9f00}; }
constexpr FloatRegister float_flag_bits = 0x9f;
#endif

/// Returns the flags of the exceptions that vector instructions have raised.
inline FloatRegister float_flags() { return float_status() & float_flag_bits; }
/// Sets flags that float_flags() has returned, and no other bits.
inline void set_float_flags(FloatRegister flags) { set_float_status(float_status() | flags); }
/// Returns true if an exception would raise SIGFPE.
inline bool has_float_traps() { return without_float_traps(float_settings()) != float_settings(); }

}  // namespace fp32shim::system
