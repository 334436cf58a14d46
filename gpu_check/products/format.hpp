// Finds out from a product's result alone to which format its operands were rounded.
//
// The result is compared with one reference per format: a product of operands rounded to that format, which the host
// sums in float64. Summing in float32 moves a result by some 1e-6, and on tensor cores by up to 4e-5; the two closest
// formats lie 3e-4 apart. So the match is unmistakable, and it does not depend on the order in which a kernel sums.
#pragma once

#include <array>
#include <complex>
#include <span>
#include <string>
#include <vector>

namespace gpu {

using Complex = std::complex<double>;

enum class Rounding { none, tf32_away, tf32_even, tf32_truncated, bf16, fp16 };
/// Roundings that can be told apart by results. Ties to even are missing: on random operands they look like ties away
/// from zero.
inline constexpr std::array all_roundings{Rounding::none, Rounding::tf32_away, Rounding::tf32_truncated,
                                          Rounding::bf16, Rounding::fp16};

/// Returns the rounded value. tf32_away and tf32_even both round to nearest, and differ in ties only.
double rounded(double value, Rounding rounding);
Complex rounded(Complex value, Rounding rounding);

/// Rounding of the operands, as found from a result.
struct Measured {
    std::string format;  // fp32, tf32, bf16, fp16, or wrong: the result is not this product at all
    std::string match;   // rounding whose reference matches, or "level": only the size of the error was judged
    double error =
        0;  // distance from the product of the exact operands: rms of the difference over rms of the product
};

/// Finds the rounding of a result. references[r]: the same elements, computed from operands under all_roundings[r].
Measured judge(std::span<const Complex> result, const std::vector<std::vector<Complex>>& references);

/// Returns a number as in 2.9e-04.
std::string scientific(double value);

}  // namespace gpu
