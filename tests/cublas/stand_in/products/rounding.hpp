// Rounds operands of a product to formats, bit by bit. NaN and infinities stay.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

namespace stand_in {

enum class Format { fp32, tf32, bf16, fp16, bf16x9 };
enum class Ties { away, even, truncate };

namespace rounding {

// Keeps the upper bits of a float32. Rounding up may raise the exponent, up to infinity.
inline float drop_bits(float value, int bits, Ties ties) {
    if (!std::isfinite(value)) return value;
    const auto word = std::bit_cast<std::uint32_t>(value);
    const std::uint32_t half = 1u << (bits - 1);
    const std::uint32_t odd = (word >> bits) & 1u;
    const std::uint32_t increment = ties == Ties::truncate ? 0 : ties == Ties::away ? half : half - 1 + odd;
    return std::bit_cast<float>((word + increment) & ~((1u << bits) - 1));
}

inline float tf32(float value, Ties ties) { return drop_bits(value, 13, ties); }
inline float bf16(float value) { return drop_bits(value, 16, Ties::even); }

// Rounds to the nearest, ties to even. Handles subnormals; numbers beyond 65504 become infinity.
inline std::uint16_t fp16_bits(double value) {
    const auto sign = static_cast<std::uint16_t>(std::signbit(value) ? 0x8000 : 0);
    const double magnitude = std::fabs(value);
    if (std::isnan(value)) return static_cast<std::uint16_t>(sign | 0x7e00);
    if (magnitude == 0) return sign;
    if (magnitude >= 65520.0) return static_cast<std::uint16_t>(sign | 0x7c00);
    int exponent = 0;
    std::frexp(magnitude, &exponent);
    if (exponent < -13) exponent = -13;  // subnormals have the spacing of the smallest normal numbers
    // Only nearbyint rounds: ldexp is exact.
    const double units = std::nearbyint(std::ldexp(magnitude, 11 - exponent));
    // For a normal number, `units` is 1024 to 2048: its leading bit carries into the exponent field.
    return static_cast<std::uint16_t>(sign | (((exponent + 13) << 10) + static_cast<int>(units)));
}

inline float fp16_value(std::uint16_t bits) {
    const int exponent = (bits >> 10) & 0x1f;
    const int fraction = bits & 0x3ff;
    float magnitude = 0;
    if (exponent == 31)
        magnitude = fraction == 0 ? INFINITY : NAN;
    else if (exponent == 0)
        magnitude = std::ldexp(static_cast<float>(fraction), -24);
    else
        magnitude = std::bit_cast<float>(static_cast<std::uint32_t>((exponent + 112) << 23 | fraction << 13));
    return (bits & 0x8000) != 0 ? -magnitude : magnitude;
}

// Rounds as fp16_bits() does, and returns the value. Long sums take most of their time here.
inline double fp16(double value) {
    constexpr int bits = 52 - 10;
    const double magnitude = std::fabs(value);
    if (!(magnitude >= 0x1p-14 && magnitude < 65504)) return fp16_value(fp16_bits(value));
    const auto word = std::bit_cast<std::uint64_t>(value);
    const std::uint64_t half = std::uint64_t{1} << (bits - 1), odd = (word >> bits) & 1;
    return std::bit_cast<double>((word + half - 1 + odd) & ~(2 * half - 1));
}

// Three bfloat16 numbers hold 24 bits, unless the last bits are too small for a bfloat16.
inline float bf16x9(float value) {
    if (!std::isfinite(value)) return value;
    const float high = bf16(value);
    if (!std::isfinite(high)) return value;
    const float middle = bf16(value - high);
    const float low = bf16(value - high - middle);
    return high + (middle + low);
}

}  // namespace rounding

inline float round_to(Format format, Ties tf32_ties, float value) {
    switch (format) {
        case Format::fp32:
            return value;
        case Format::tf32:
            return rounding::tf32(value, tf32_ties);
        case Format::bf16:
            return rounding::bf16(value);
        case Format::fp16:
            return rounding::fp16_value(rounding::fp16_bits(value));
        case Format::bf16x9:
            return rounding::bf16x9(value);
    }
    return value;
}

}  // namespace stand_in
