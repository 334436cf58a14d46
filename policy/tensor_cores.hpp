// The steps in which tensor cores add products: policy/tensor_cores.def as data.
#pragma once

#include <cstdint>

#include "policy/precision.hpp"

namespace fp32shim::policy {

/// The formats of the factors that tensor cores multiply.
enum class Factors : std::uint8_t { none, tf32, bf16, fp16, fp8 };

/// How a step treats the sum of the earlier steps. `joins` means that this sum is one of the step's terms, and
/// `follows` means that the step's result is added to this sum in FP32.
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

/// Returns the step of a GPU for `factors`. Returns nullptr for `library`, and if the GPU's tensor cores do not have
/// these factors.
constexpr const TensorCoreStep* find_tensor_core_step(AccumulationModel gpu, Factors factors) {
    for (const TensorCoreStep& step : steps)
        if (step.gpu == gpu && step.factors == factors) return &step;
    return factors == Factors::fp8 ? find_tensor_core_step(gpu, Factors::fp16)
                                   : nullptr;  // every fp8 number is also an fp16 number
}

/// Returns the rounding of operands to TF32 for a GPU, for a policy that does not name a rounding. The result is
/// `away` for `library` and for a GPU without published results, because it fits the published results of other GPUs.
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

/// Has a constant for each rounding in policy/formats.def: the format in which tensor cores multiply the rounded
/// operands.
struct FactorsOfRounding {
#define ROUNDING(name, cut_bits, ties, factors) static constexpr Factors name = Factors::factors;
#include "policy/formats.def"
};

/// Returns the factors that a preview of the format multiplies. For a format of several parts, these are the factors
/// of one part.
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
