// Finds out from a product's result alone to which format its operands were rounded.
//
// The result is compared with one reference for each format and way of rounding. To compute a reference, the host
// rounds the operands in this way, and sums their product in float64. Summing in float32 moves a result by some 1e-6,
// and on tensor cores by up to 6e-5. Two references lie 2e-4 apart or more, because the operands (host_problem.hpp)
// contain ties, and numbers that FP16 does not have. So the match is unmistakable, and it does not depend on the
// order in which a kernel sums. frameworks/measured.py judges in the same way; tests/cublas/test_judges.py gives both
// judges the same products.
#pragma once

#include <complex>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace gpu {

using Complex = std::complex<double>;

/// A rounding of the operands of a product. With the format fp32, the operands are not rounded.
struct Rounding {
    enum Format { fp32, tf32, bf16, fp16 };
    enum Ties { even, away, truncate };  // truncate rounds every number towards zero, and not only ties

    Format format = fp32;
    Ties ties = even;
};
/// The roundings with which a result is compared.
inline constexpr Rounding all_roundings[] = {
    {Rounding::tf32, Rounding::even}, {Rounding::tf32, Rounding::away}, {Rounding::tf32, Rounding::truncate},
    {Rounding::bf16, Rounding::even}, {Rounding::bf16, Rounding::away}, {Rounding::bf16, Rounding::truncate},
    {Rounding::fp16, Rounding::even}, {Rounding::fp16, Rounding::away}, {Rounding::fp16, Rounding::truncate},
};

/// Returns the rounded value. A number that is too large for FP16 becomes infinite, or FP16's largest number if
/// `rounding` truncates.
float rounded(float value, Rounding rounding);
Complex rounded(std::complex<float> value, Rounding rounding);

/// The rounding of the operands of a product, found from the product's result.
struct MeasuredRounding {
    std::string format;  // fp32, tf32, bf16, fp16, or wrong if the result is not this product at all
    std::string match;   // rounding whose reference matches, or "level" if only the size of the error was judged
    /// Distance from the product of the exact operands: the rms of the difference over the rms of this product.
    double error = 0;
};

/// Finds the rounding of a result. `reference` computes the elements of `result` from operands with the given
/// rounding. An element that is infinite or NaN agrees with any element that is infinite or NaN.
/// `is_in_range_of_fp16` marks the elements whose operands FP16 rounds as TF32 does.
MeasuredRounding identify_rounding(std::span<const Complex> result, const std::vector<bool>& is_in_range_of_fp16,
                                   const std::function<std::vector<Complex>(Rounding)>& reference);

}  // namespace gpu
