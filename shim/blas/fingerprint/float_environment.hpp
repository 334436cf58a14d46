// The processor's settings for floating-point arithmetic: rounding, subnormal numbers, traps, and the flags of
// exceptions.
#pragma once

#include <cstdint>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace fp32shim::blas {

/// Has the default settings while it lives, without traps. Then restores the program's, and its flags.
class DefaultFloatEnvironment {
  public:
    DefaultFloatEnvironment() : control_(control()), status_(status()) { set_control(default_control); }
    ~DefaultFloatEnvironment() {
        set_status(status_);
        set_control(control_);
    }
    DefaultFloatEnvironment(const DefaultFloatEnvironment&) = delete;
    DefaultFloatEnvironment& operator=(const DefaultFloatEnvironment&) = delete;

  private:
#if defined(__x86_64__)
    static constexpr std::uint64_t default_control = 0x1f80;  // MXCSR: no traps, to nearest, subnormal numbers kept
    static std::uint64_t control() { return _mm_getcsr(); }   // which holds the flags, too
    static void set_control(std::uint64_t value) { _mm_setcsr(static_cast<std::uint32_t>(value)); }
    static std::uint64_t status() { return 0; }
    static void set_status(std::uint64_t) {}
#elif defined(__aarch64__)
    static constexpr std::uint64_t default_control = 0;
    static std::uint64_t control() {
        std::uint64_t value = 0;
        asm volatile("mrs %0, fpcr" : "=r"(value));
        return value;
    }
    static void set_control(std::uint64_t value) { asm volatile("msr fpcr, %0" : : "r"(value) : "memory"); }
    static std::uint64_t status() {
        std::uint64_t value = 0;
        asm volatile("mrs %0, fpsr" : "=r"(value));
        return value;
    }
    static void set_status(std::uint64_t value) { asm volatile("msr fpsr, %0" : : "r"(value) : "memory"); }
#endif

    std::uint64_t control_;
    std::uint64_t status_;
};

}  // namespace fp32shim::blas
