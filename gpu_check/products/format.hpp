// Finds out from a product's result alone to which format its operands were rounded.
//
// The result is compared with one reference per format and rounding: a product of operands rounded in that way, which
// the host sums in float64. Summing in float32 moves a result by some 1e-6, and on tensor cores by up to 6e-5;
// two references lie 2e-4 apart or more, since the operands (host_problem.hpp) hold ties, and numbers that FP16 does
// not have. So the match is unmistakable, and it does not depend on the order in which a kernel sums.
// frameworks/measured.py judges in the same way; tests/cublas/test_judges.py gives both the same products.
#pragma once

#include <complex>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace gpu {

using Complex = std::complex<double>;

/// A rounding of the operands of a product. At FP32 they are not rounded.
struct Rounding {
    enum Format { fp32, tf32, bf16, fp16 };
    enum Ties { even, away, truncate };  // truncate: every number, not only a tie, is rounded towards zero

    Format format = fp32;
    Ties ties = even;
};
/// Roundings that a result is compared with.
inline constexpr Rounding all_roundings[] = {
    {Rounding::tf32, Rounding::even}, {Rounding::tf32, Rounding::away}, {Rounding::tf32, Rounding::truncate},
    {Rounding::bf16, Rounding::even}, {Rounding::bf16, Rounding::away}, {Rounding::bf16, Rounding::truncate},
    {Rounding::fp16, Rounding::even}, {Rounding::fp16, Rounding::away}, {Rounding::fp16, Rounding::truncate},
};

/// Returns the rounded value. FP16 makes a number that is too large infinite, or the largest number if it truncates.
float rounded(float value, Rounding rounding);
Complex rounded(std::complex<float> value, Rounding rounding);

/// The rounding of the operands of a product, found from the product's result.
struct MeasuredRounding {
    std::string format;  // fp32, tf32, bf16, fp16, or wrong: the result is not this product at all
    std::string match;   // rounding whose reference matches, or "level": only the size of the error was judged
    double error =
        0;  // distance from the product of the exact operands: rms of the difference over rms of the product
};

/// Finds the rounding of a result. `reference` computes the same elements from operands with the given rounding. An
/// element that is infinite or NaN agrees with any element that is infinite or NaN. is_in_range_of_fp16: elements
/// whose operands FP16 rounds as TF32 does.
MeasuredRounding identify_rounding(std::span<const Complex> result, const std::vector<bool>& is_in_range_of_fp16,
                                   const std::function<std::vector<Complex>(Rounding)>& reference);

}  // namespace gpu
