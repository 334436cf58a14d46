// The steps in which tensor cores add products: policy/tensor_cores.def as data.
#pragma once

#include <cstdint>

#include "policy/precision.hpp"

namespace fp32shim::policy {

/// Formats of the factors of a tensor core.
enum class Factors : std::uint8_t { none, tf32, bf16, fp16, fp8 };

/// Place of the sum so far in a step: it joins the terms, or the step's result follows and is added to it in FP32.
enum class Start : std::uint8_t { joins, follows };

/// One step of a GPU's tensor cores; policy/tensor_cores.def explains the members.
struct TensorCoreStep {
    AccumulationModel gpu;
    Factors factors;
    int products, bits, result_bits, lowest_exponent;
    Start start;
};

inline constexpr TensorCoreStep steps[] = {
#define STEP(name, factors, products, bits, result_bits, lowest_exponent, start) \
    {AccumulationModel::name, Factors::factors, products, bits, result_bits, lowest_exponent, Start::start},
#include "policy/tensor_cores.def"
};

/// Returns the step of a GPU for such factors. Returns nullptr if its tensor cores do not have them, and for
/// `library`.
constexpr const TensorCoreStep* find_tensor_core_step(AccumulationModel gpu, Factors factors) {
    for (const TensorCoreStep& step : steps)
        if (step.gpu == gpu && step.factors == factors) return &step;
    return factors == Factors::fp8 ? find_tensor_core_step(gpu, Factors::fp16)
                                   : nullptr;  // numbers of fp8 are numbers of fp16
}

/// Returns how operands are rounded to TF32 for a GPU, if the policy does not say. For `library`, and for a GPU of
/// which no results are known, it is the default, which fits the results published of GPUs.
constexpr Tf32Rounding tf32_rounding_of(AccumulationModel gpu) {
    switch (gpu) {
#define TF32_ROUNDING(name, rounding) \
    case AccumulationModel::name:     \
        return Tf32Rounding::rounding;
#include "policy/tensor_cores.def"
        default:
            return Tf32Rounding::away;
    }
}

/// The factors of each rounding in policy/formats.def.
struct FactorsOfRounding {
#define ROUNDING(name, cut_bits, ties, factors) static constexpr Factors name = Factors::factors;
#include "policy/formats.def"
};

/// Returns the factors that a preview of the format multiplies; of a format of several parts, those of a part.
constexpr Factors factors_of_preview(AppliedFormat format) {
    switch (format) {
#define PREVIEW(format, rounding, products) \
    case AppliedFormat::format:             \
        return FactorsOfRounding::rounding;
#include "policy/formats.def"
        default:
            return Factors::none;
    }
}

}  // namespace fp32shim::policy
