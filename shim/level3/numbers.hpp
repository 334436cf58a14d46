// Reads the numbers of an operand, float32 or float64, by their bits, since comparisons and conversions may raise
// floating-point exceptions. Memory is counted in floats, as in level3/matrix.hpp.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>

namespace fp32shim::blas {

/// A number in memory: one float, or two floats that together have the bits of a float64. The second float has the
/// exponent, since the processor is little-endian.
class StoredNumber {
  public:
    /// Refers to the number with the index `index` in the numbers at `memory`.
    StoredNumber(const void* memory, bool is_double, int index = 0)
        : at_(static_cast<const float*>(memory) + (is_double ? 2 * index : index)), is_double_(is_double) {}

    bool is_finite() const { return (high_word() & exponent_mask()) != exponent_mask(); }
    bool is_nan() const { return !is_finite() && (fraction() != 0); }
    bool is_zero() const { return (high_word() & 0x7fffffffU) == 0 && (!is_double_ || low_word() == 0); }
    /// Returns floor(log2|x|). Precondition: the number is finite and not zero.
    int exponent() const {
        const int field = static_cast<int>((high_word() & exponent_mask()) >> (is_double_ ? 20 : 23));
        const int fraction_bits = is_double_ ? 52 : 23;
        const int bias = is_double_ ? 1023 : 127;
        if (field > 0) return field - bias;
        return 63 - __builtin_clzll(fraction()) + 1 - bias - fraction_bits;
    }
    /// Returns the number. If it is a signaling NaN, the conversion may raise a floating-point exception.
    double value() const {
        if (!is_double_) return *at_;
        double value = 0;
        std::memcpy(&value, at_, sizeof value);
        return value;
    }
    /// Returns the magnitude as a float, which may be infinite if the number is a float64. NaN stays NaN.
    float magnitude() const { return is_double_ ? static_cast<float>(std::abs(value())) : std::abs(*at_); }

  private:
    std::uint32_t low_word() const { return std::bit_cast<std::uint32_t>(at_[0]); }
    std::uint32_t high_word() const { return std::bit_cast<std::uint32_t>(at_[is_double_ ? 1 : 0]); }
    std::uint32_t exponent_mask() const { return is_double_ ? 0x7ff00000U : 0x7f800000U; }
    std::uint64_t fraction() const {
        return is_double_ ? std::uint64_t{high_word() & 0x000fffffU} << 32 | low_word()
                          : std::uint64_t{high_word() & 0x007fffffU};
    }

    const float* at_;
    bool is_double_;
};

}  // namespace fp32shim::blas
