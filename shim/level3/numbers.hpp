// Reads the numbers of a product, float32 or float64, by their bits, since comparisons and conversions may raise
// floating-point exceptions. Memory is counted in floats, as in level3/matrix.hpp.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>

namespace fp32shim::blas {

/// A number in memory: one float, or two floats with the bits of a float64 (little-endian: the exponent is in the
/// second).
class StoredNumber {
  public:
    /// Views number `index` at `memory`.
    StoredNumber(const void* memory, bool is_double, int index = 0)
        : at_(static_cast<const float*>(memory) + (is_double ? 2 * index : index)), is_double_(is_double) {}

    bool is_finite() const { return (high() & exponent_mask()) != exponent_mask(); }
    bool is_nan() const { return !is_finite() && (fraction() != 0); }
    bool is_zero() const { return (high() & 0x7fffffffU) == 0 && (!is_double_ || low() == 0); }
    /// Returns floor(log2|x|). Precondition: finite and not zero.
    int exponent() const {
        const int field = static_cast<int>((high() & exponent_mask()) >> (is_double_ ? 20 : 23));
        const int fraction_bits = is_double_ ? 52 : 23;
        const int bias = is_double_ ? 1023 : 127;
        if (field > 0) return field - bias;
        return 63 - __builtin_clzll(fraction()) + 1 - bias - fraction_bits;
    }
    /// Returns the number. Its conversion may raise floating-point exceptions if it is a signaling NaN.
    double value() const {
        if (!is_double_) return *at_;
        double value = 0;
        std::memcpy(&value, at_, sizeof value);
        return value;
    }
    /// Returns the magnitude as a float, which may be infinite if the number is a float64. NaN stays NaN.
    float magnitude() const { return is_double_ ? static_cast<float>(std::abs(value())) : std::abs(*at_); }

  private:
    std::uint32_t low() const { return std::bit_cast<std::uint32_t>(at_[0]); }
    std::uint32_t high() const { return std::bit_cast<std::uint32_t>(at_[is_double_ ? 1 : 0]); }
    std::uint32_t exponent_mask() const { return is_double_ ? 0x7ff00000U : 0x7f800000U; }
    std::uint64_t fraction() const {
        return is_double_ ? std::uint64_t{high() & 0x000fffffU} << 32 | low() : std::uint64_t{high() & 0x007fffffU};
    }

    const float* at_;
    bool is_double_;
};

}  // namespace fp32shim::blas
