// Sets the processor's floating-point environment: rounding, subnormal numbers, traps, and the flags of exceptions.
#pragma once

#include <cstdint>

#include "system/float_registers.hpp"
#include "system/kept_state.hpp"

namespace fp32shim::audit {

/// Disables floating-point traps during the object's lifetime, then restores the program's settings, exception flags
/// and errno. A program may want a signal if its own products overflow, but not if a product that the shim computes
/// beside them overflows.
class QuietFloatEnvironment {
  public:
    enum class Settings : std::uint8_t { defaults, as_the_program };
    explicit QuietFloatEnvironment(Settings settings) {
        system::set_float_settings(
            system::without_float_traps(settings == Settings::defaults ? 0 : system::float_settings()));
    }

  private:
    system::ErrnoAndFloatGuard kept_;
};

}  // namespace fp32shim::audit
