// Preserves errno and the floating-point state, which the program may read after its call, while the shim runs its
// own code during that call.
#pragma once

#include <cerrno>
#include <cstdint>

#include "system/float_registers.hpp"

namespace fp32shim::system {

/// Stores errno, the flags of floating-point exceptions and the floating-point settings of this thread, and restores
/// them at the end of the object's lifetime. Costs some nanoseconds if nothing changes. Async-signal-safe.
class ErrnoAndFloatGuard {
  public:
    ErrnoAndFloatGuard() : errno_(errno) {}
    ~ErrnoAndFloatGuard() {
        errno = errno_;
        restore(float_state_);
    }
    ErrnoAndFloatGuard(const ErrnoAndFloatGuard&) = delete;
    ErrnoAndFloatGuard& operator=(const ErrnoAndFloatGuard&) = delete;

  private:
    struct FloatState {
        FloatRegister settings = float_settings(), status = float_status();
#if defined(__x86_64__)
        std::uint16_t x87_control, x87_status;
        FloatState() {
            asm volatile("fnstcw %0" : "=m"(x87_control));
            asm volatile("fnstsw %0" : "=m"(x87_status));
        }
#endif
    };
    static void restore(const FloatState& before) {
        const FloatState now;
        if (now.settings != before.settings) set_float_settings(before.settings);
        if (now.status != before.status) set_float_status(before.status);
#if defined(__x86_64__)
        // The exception flags in x87_status. Its other bits describe the register stack and the last comparison.
        constexpr std::uint16_t exceptions = 0x80ff;
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
#endif
    }

    int errno_;
    FloatState float_state_;
};

}  // namespace fp32shim::system
