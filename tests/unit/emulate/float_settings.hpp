// Settings of the processor that change results: the rounding mode, and the treatment of subnormal numbers.
#pragma once

#include <cfenv>
#include <cstdint>
#include <string>
#include <vector>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace fp32shim::tests {

struct FloatSettings {
    int rounding = FE_TONEAREST;
    bool flushes_results = false;   ///< subnormal results become zero
    bool flushes_operands = false;  ///< subnormal operands count as zero; aarch64 has one setting for both

    std::string name() const {
        const std::string mode = rounding == FE_TONEAREST  ? "to nearest"
                                 : rounding == FE_UPWARD   ? "upward"
                                 : rounding == FE_DOWNWARD ? "downward"
                                                           : "towards zero";
        return mode + (flushes_results ? ", results flushed" : "") + (flushes_operands ? ", operands flushed" : "");
    }
};

inline std::vector<FloatSettings> all_float_settings() {
    std::vector<FloatSettings> all;
    for (const int rounding : {FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO})
        for (const bool results : {false, true})
            for (const bool operands : {false, true}) {
#if defined(__aarch64__)
                if (results != operands) continue;
#endif
                all.push_back({rounding, results, operands});
            }
    return all;
}

/// Sets the calling thread's settings for the object's lifetime.
class WithFloatSettings {
  public:
    explicit WithFloatSettings(FloatSettings settings) {
        std::fegetenv(&before_);
        std::fesetround(settings.rounding);
#if defined(__x86_64__)
        constexpr unsigned flush_results = 1U << 15;
        constexpr unsigned flush_operands = 1U << 6;
        _mm_setcsr(_mm_getcsr() | (settings.flushes_results ? flush_results : 0) |
                   (settings.flushes_operands ? flush_operands : 0));
#elif defined(__aarch64__)
        std::uint64_t control = 0;
        asm volatile("mrs %0, fpcr" : "=r"(control));
        if (settings.flushes_results) control |= std::uint64_t{1} << 24;
        asm volatile("msr fpcr, %0" : : "r"(control) : "memory");
#endif
    }
    ~WithFloatSettings() { std::fesetenv(&before_); }
    WithFloatSettings(const WithFloatSettings&) = delete;
    WithFloatSettings& operator=(const WithFloatSettings&) = delete;

  private:
    std::fenv_t before_{};
};

/// Returns a * b + c by the processor's instruction. Precondition: it has one.
#if defined(__x86_64__)
__attribute__((target("fma"), noinline)) inline float fused_by_the_processor(float a, float b, float c) {
    return _mm_cvtss_f32(_mm_fmadd_ss(_mm_set_ss(a), _mm_set_ss(b), _mm_set_ss(c)));
}
#else
__attribute__((noinline)) inline float fused_by_the_processor(float a, float b, float c) {
    return __builtin_fmaf(a, b, c);
}
#endif

}  // namespace fp32shim::tests
