// Sets the processor's floating-point environment: rounding, subnormal numbers, traps, and the flags of exceptions.
#pragma once

#include <cstdint>

#include "system/kept_state.hpp"

namespace fp32shim::audit {

/// Disables floating-point traps during the object's lifetime, then restores the program's settings, exception flags
/// and errno. A program may want a signal if its own products overflow, but not if a product that the shim computes
/// beside them overflows.
class QuietFloatEnvironment {
  public:
    enum class Settings : std::uint8_t { defaults, as_the_program };
    explicit QuietFloatEnvironment(Settings settings) {
#if defined(__x86_64__)
        constexpr std::uint32_t no_traps = 0x1f80;  // an MXCSR value without traps and flags, which rounds to nearest
                                                    // and keeps subnormals
        _mm_setcsr(settings == Settings::defaults ? no_traps : _mm_getcsr() | no_traps);
#elif defined(__aarch64__)
        constexpr std::uint64_t traps = 0x9f00;
        std::uint64_t control = 0;
        if (settings == Settings::as_the_program) asm volatile("mrs %0, fpcr" : "=r"(control));
        asm volatile("msr fpcr, %0" : : "r"(control & ~traps) : "memory");
#endif
    }

  private:
    system::ErrnoAndFloatGuard kept_;
};

}  // namespace fp32shim::audit
