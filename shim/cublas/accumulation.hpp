// Finds the type in which half products (products of float16 or bfloat16 operands) add, and plans how to make them
// add in FP32. The code depends only on its arguments, like that of formats.hpp.
//
// cuBLAS adds in FP16 if the compute type is 16F. If the compute type is 32F, cuBLAS may still add the partial sums
// of split-K in the type of the result, unless bit 4 of the handle's math mode or the algorithm's reduction scheme
// forbids that.
#pragma once

#include <bit>
#include <cstdint>

#include "shim/cublas/arguments.hpp"
#include "shim/cublas/plan_request.hpp"

namespace fp32shim::cublas {

/// Returns the type in which a half product adds if it runs as the program called it. Returns `unknown` for products
/// of other types.
policy::Accumulator accumulator_of(const RequestedPrecision& asked);

/// Plans how to run a product whose operands are narrower than float32. The format of these operands stays as the
/// program chose it.
Plan plan_accumulation(const PlanRequest& request, const policy::Decision& decision);

/// Returns the value of a float16 number. Uses no operation that rounds, or that depends on the program's
/// floating-point settings.
constexpr float half_to_float(std::uint16_t half) {
    const std::uint32_t sign = static_cast<std::uint32_t>(half & 0x8000) << 16;
    const std::uint32_t bits = half & 0x7fff;
    std::uint32_t magnitude = (bits << 13) + (112U << 23);  // the exponents' biases differ by 112
    if (bits >= 0x7c00) magnitude = 0x7f800000 | bits << 13;
    if (bits < 0x400) {
        const int shift = std::countl_zero(bits) - 21;  // moves the leading bit to the position of the implicit bit
                                                        // of normal numbers
        magnitude = bits == 0 ? 0 : ((bits << shift) & 0x3ff) << 13 | static_cast<std::uint32_t>(113 - shift) << 23;
    }
    return std::bit_cast<float>(sign | magnitude);
}

/// Replaces the float16 numbers alpha and beta, which are at the positions `alpha` and `beta` of a call's arguments,
/// by equal float32 numbers. These numbers lie in this object, so it must exist until the call returns.
class ScalarConversion {
  public:
    ScalarConversion(ArgumentFrame& arguments, int alpha, int beta) {
        const int positions[] = {alpha, beta};
        for (int i = 0; i < 2; ++i) {
            const auto* given = reinterpret_cast<const std::uint16_t*>(arguments.frame().word(positions[i]));
            values_[i] = half_to_float(*given);
            arguments.set(positions[i], static_cast<const void*>(&values_[i]));
        }
    }
    ScalarConversion(const ScalarConversion&) = delete;
    ScalarConversion& operator=(const ScalarConversion&) = delete;

  private:
    float values_[2];
};

}  // namespace fp32shim::cublas
