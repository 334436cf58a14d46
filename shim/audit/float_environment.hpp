// Sets the processor's floating-point environment: rounding, subnormal numbers, traps, and the flags of exceptions.
#pragma once

#include <cstdint>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace fp32shim::audit {

/// Disables floating-point traps for the object's lifetime, then restores the program's settings and flags. A program
/// may want a signal if its own products overflow, but not if a product of an audit does.
class QuietFloatEnvironment {
  public:
    enum class Settings : std::uint8_t { defaults, as_the_program };
    explicit QuietFloatEnvironment(Settings settings) : control_(control()), status_(status()) {
        set_control(settings == Settings::defaults ? default_control : without_traps(control_));
    }
    ~QuietFloatEnvironment() {
        set_status(status_);
        set_control(control_);
    }
    QuietFloatEnvironment(const QuietFloatEnvironment&) = delete;
    QuietFloatEnvironment& operator=(const QuietFloatEnvironment&) = delete;

  private:
#if defined(__x86_64__)
    static constexpr std::uint64_t default_control = 0x1f80;  // MXCSR: no traps, to nearest, keep subnormals
    static constexpr std::uint64_t without_traps(std::uint64_t control) { return control | 0x1f80; }
    static std::uint64_t control() { return _mm_getcsr(); }  // MXCSR also holds the flags
    static void set_control(std::uint64_t value) { _mm_setcsr(static_cast<std::uint32_t>(value)); }
    static std::uint64_t status() { return 0; }
    static void set_status(std::uint64_t) {}
#elif defined(__aarch64__)
    static constexpr std::uint64_t default_control = 0;
    static constexpr std::uint64_t without_traps(std::uint64_t control) { return control & ~std::uint64_t{0x9f00}; }
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

}  // namespace fp32shim::audit
