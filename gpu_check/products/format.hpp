// Finds the format that a product's operands were rounded to, from its result alone.
//
// A result is compared with products of rounded operands, one for each format, that the host sums in float64. Summing
// in float32 moves a result by some 1e-6, on tensor cores by up to 4e-5; the nearest two formats lie 3e-4 apart. So
// the match is unmistakable, and it does not depend on the order in which a kernel sums.
#pragma once

#include <array>
#include <complex>
#include <span>
#include <string>
#include <vector>

namespace gpu {

using Complex = std::complex<double>;

enum class Rounding { none, tf32_away, tf32_even, tf32_truncated, bf16, fp16 };
/// The roundings that results can tell apart: on random operands, ties to even look like ties away from zero.
inline constexpr std::array all_roundings{Rounding::none, Rounding::tf32_away, Rounding::tf32_truncated,
                                          Rounding::bf16, Rounding::fp16};

/// tf32_away and tf32_even: nearest; they differ in where ties go.
double rounded(double value, Rounding rounding);
Complex rounded(Complex value, Rounding rounding);

/// The rounding of the operands that a result shows.
struct Measured {
    std::string format;  // fp32, tf32, bf16, fp16, or wrong: not this product at all
    std::string match;   // the rounding whose product it is, or "level": judged by the size of the error only
    double error =
        0;  // distance from the product of the exact operands: rms of the difference over rms of the product
};

/// references[r]: the same elements, computed from operands under all_roundings[r].
Measured judge(std::span<const Complex> result, const std::vector<std::vector<Complex>>& references);

/// 2.9e-04
std::string scientific(double value);

}  // namespace gpu
