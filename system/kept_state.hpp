// Preserves errno and the floating-point state, which the program may read after its call, while the shim runs its
// own code during that call.
#pragma once

#include <cerrno>
#include <cstdint>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace fp32shim::system {

/// Stores errno, the flags of floating-point exceptions and the floating-point settings of this thread, and restores
/// them at the end of the object's lifetime. Costs some nanoseconds if nothing changes. Async-signal-safe.
class ErrnoAndFloatGuard {
  public:
    ErrnoAndFloatGuard() : errno_(errno), float_state_(float_state()) {}
    ~ErrnoAndFloatGuard() {
        errno = errno_;
        restore(float_state_);
    }
    ErrnoAndFloatGuard(const ErrnoAndFloatGuard&) = delete;
    ErrnoAndFloatGuard& operator=(const ErrnoAndFloatGuard&) = delete;

  private:
#if defined(__x86_64__)
    struct FloatState {
        std::uint32_t mxcsr;  ///< settings and flags of SSE and AVX
        std::uint16_t x87_control, x87_status;
    };
    static FloatState float_state() {
        FloatState found{_mm_getcsr(), 0, 0};
        asm volatile("fnstcw %0" : "=m"(found.x87_control));
        asm volatile("fnstsw %0" : "=m"(found.x87_status));
        return found;
    }
    static void restore(const FloatState& before) {
        // The exception flags in x87_status. Its other bits describe the register stack and the last comparison.
        constexpr std::uint16_t exceptions = 0x80ff;
        const FloatState now = float_state();
        if (now.mxcsr != before.mxcsr) _mm_setcsr(before.mxcsr);
        if (now.x87_control == before.x87_control && ((now.x87_status ^ before.x87_status) & exceptions) == 0) return;
        struct {
            std::uint16_t control, unused1, status, unused2;
            std::uint32_t others[5];
        } environment;
        asm volatile("fnstenv %0" : "=m"(environment));
        environment.control = before.x87_control;
        environment.status =
            static_cast<std::uint16_t>((environment.status & ~exceptions) | (before.x87_status & exceptions));
        asm volatile("fldenv %0" : : "m"(environment));
    }
#elif defined(__aarch64__)
    struct FloatState {
        std::uint64_t control, status;
    };
    static FloatState float_state() {
        FloatState found{};
        asm volatile("mrs %0, fpcr" : "=r"(found.control));
        asm volatile("mrs %0, fpsr" : "=r"(found.status));
        return found;
    }
    static void restore(const FloatState& before) {
        const FloatState now = float_state();
        if (now.control != before.control) asm volatile("msr fpcr, %0" : : "r"(before.control) : "memory");
        if (now.status != before.status) asm volatile("msr fpsr, %0" : : "r"(before.status) : "memory");
    }
#endif

    int errno_;
    FloatState float_state_;
};

}  // namespace fp32shim::system
