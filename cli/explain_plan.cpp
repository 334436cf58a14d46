#include "cli/explain_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <span>

#include "shim/blas/treat.hpp"
#include "shim/cublas/api.hpp"
#include "shim/cublas/plan_request.hpp"

namespace fp32shim::cli {
namespace {

using policy::AppliedFormat;

std::string_view format_words(AppliedFormat applied, policy::Device device) {
    const bool is_on_cpu = device == policy::Device::cpu;
    switch (applied) {
#define EXPLAINED(format, on_cpu, on_gpu) \
    case AppliedFormat::format:           \
        return is_on_cpu ? on_cpu : on_gpu;
#include "policy/formats.def"
    }
    return {};
}

// ---- Calls on the CPU --------------------------------------------------------------------------------------------

PlannedCall plan_on_cpu(const Function& function, const policy::MatmulCall& call, const policy::Decision& decision,
                        const policy::Policy& policy) {
    const TreatmentOutcome treated = apply_treatment(function.family->treatment, decision, call);
    PlannedCall planned;
    planned.outcome = {treated.applied, treated.reason};
    planned.words = format_words(planned.outcome.applied, call.device);
    if (treated.rounds && planned.outcome.applied == policy::AppliedFormat::fp32)
        planned.words = "the operands are rounded to float32 first";
    if (runs_in_fixed_order(function.product(), policy))
        planned.words = fmt::format("computed by the shim, in {} and in a fixed order",
                                    is_double(function.product().dtype) ? "float64" : "float32");
    else if (treated.rounds && policy.cpu_mode == policy::CpuMode::accelerate &&
             function.product().operation == blas::Operation::trmm)
        planned = {.outcome = {policy::native_format(call.dtype), policy::Reason::slower_in_bf16},
                   .words = std::string(format_words(policy::native_format(call.dtype), call.device))};
    else if (treated.rounds && policy.cpu_mode == policy::CpuMode::accelerate)
        planned.words =
            "computed by the shim on BF16 units, if the processor has them and they are faster for all of its sizes; "
            "otherwise as called";
    if (function.family->treatment == Treatment::opaque)
        planned.notes.emplace_back("products with the operands that it prepares are not seen");
    if (function.convention == CallingConvention::bare)
        planned.notes.push_back(fmt::format("`{}` counts only in libraries that export {} too", function.name,
                                            functions[find_function(*function.family, NameForm::underscored)].name));
    return planned;
}

// ---- Calls of cuBLAS ---------------------------------------------------------------------------------------------

/// A possible value of a fact that only a running process knows.
struct PossibleValue {
    std::string_view name;
    std::int32_t value;
};

constexpr PossibleValue math_modes[] = {
    {"CUBLAS_DEFAULT_MATH", cublas::math_default},
    {"CUBLAS_TENSOR_OP_MATH", cublas::math_tensor_op},
    {"CUBLAS_PEDANTIC_MATH", cublas::math_pedantic},
    {"CUBLAS_TF32_TENSOR_OP_MATH", cublas::math_tf32_tensor_op},
    {"CUBLAS_FP32_EMULATED_BF16X9_MATH", cublas::math_fp32_emulated_bf16x9},
};

constexpr PossibleValue compute_types[] = {
    {"CUBLAS_COMPUTE_32F", cublas::compute_32f},
    {"CUBLAS_COMPUTE_32F_PEDANTIC", cublas::compute_32f_pedantic},
    {"CUBLAS_COMPUTE_32F_FAST_16F", cublas::compute_32f_fast_16f},
    {"CUBLAS_COMPUTE_32F_FAST_16BF", cublas::compute_32f_fast_16bf},
    {"CUBLAS_COMPUTE_32F_FAST_TF32", cublas::compute_32f_fast_tf32},
    {"CUBLAS_COMPUTE_32F_EMULATED_16BFX9", cublas::compute_32f_emulated_16bfx9},
};

constexpr PossibleValue math_modes_of_half[] = {
    {"CUBLAS_DEFAULT_MATH", cublas::math_default},
    {"CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION", cublas::math_full_precision_reduction},
};

constexpr PossibleValue compute_types_of_half[] = {
    {"CUBLAS_COMPUTE_32F", cublas::compute_32f},
    {"CUBLAS_COMPUTE_32F_PEDANTIC", cublas::compute_32f_pedantic},
    {"CUBLAS_COMPUTE_16F", cublas::compute_16f},
    {"CUBLAS_COMPUTE_16F_PEDANTIC", cublas::compute_16f_pedantic},
};

constexpr PossibleValue reductions[] = {{"that may add partial sums in the type of the result", 0},
                                        {"that adds partial sums in FP32, or has none", 1}};
constexpr PossibleValue scalar_places[] = {
    {"in host memory", static_cast<std::int32_t>(cublas::ScalarPlace::on_host)},
    {"in device memory", static_cast<std::int32_t>(cublas::ScalarPlace::on_device)}};

constexpr PossibleValue math_modes_of_float64[] = {
    {"CUBLAS_DEFAULT_MATH", cublas::math_default},
    {"CUBLAS_PEDANTIC_MATH", cublas::math_pedantic},
    {"CUBLAS_FP64_EMULATED_FIXEDPOINT_MATH", cublas::math_fp64_emulated_fixedpoint},
};

constexpr PossibleValue compute_types_of_float64[] = {
    {"CUBLAS_COMPUTE_64F", cublas::compute_64f},
    {"CUBLAS_COMPUTE_64F_PEDANTIC", cublas::compute_64f_pedantic},
    {"CUBLAS_COMPUTE_64F_EMULATED_FIXEDPOINT", cublas::compute_64f_emulated_fixedpoint},
};

constexpr PossibleValue algorithms[] = {{"CUBLAS_GEMM_DEFAULT", cublas::gemm_default},
                                        {"CUBLAS_GEMM_DEFAULT_TENSOR_OP", cublas::gemm_default_tensor_op}};

constexpr PossibleValue lt_algorithms[] = {{"for float32", static_cast<std::int32_t>(cublas::Format::fp32)},
                                           {"that rounds to TF32", static_cast<std::int32_t>(cublas::Format::tf32)},
                                           {"that rounds to BF16", static_cast<std::int32_t>(cublas::Format::bf16)},
                                           {"that rounds to FP16", static_cast<std::int32_t>(cublas::Format::fp16)}};

constexpr PossibleValue bf16x9_versions[] = {{"12.9 or newer", 1}, {"before 12.9", 0}};
constexpr PossibleValue fp64_emulation_versions[] = {{"13.1 or newer", 1}, {"before 13.1", 0}};
constexpr PossibleValue grouped_forms[] = {{"with cublasGemmGroupedBatchedEx", 1},
                                           {"without cublasGemmGroupedBatchedEx", 0}};

/// A fact that only a running process knows, such as cuBLAS's math mode. The first of its possible values is assumed.
struct UnknownFact {
    std::string_view name;
    std::span<const PossibleValue> values;
    std::function<void(cublas::RequestedPrecision& asked, std::int32_t value)> set;
};

std::vector<UnknownFact> unknowns_of(const Function& function, policy::Dtype dtype) {
    std::vector<UnknownFact> unknowns;
    const bool is_lt = function.product().control == FormatControl::lt_matmul;
    const bool is_float64 = policy::is_double(dtype), is_half = policy::is_half(dtype);
    const auto add = [&](std::string_view what, std::span<const PossibleValue> values, auto set) {
        unknowns.push_back({what, values, set});
    };
    using Values = std::span<const PossibleValue>;
    if (!is_lt && function.product().control != FormatControl::none)
        add("math mode",
            is_float64 ? Values(math_modes_of_float64)
            : is_half  ? Values(math_modes_of_half)
                       : math_modes,
            [](auto& asked, std::int32_t mode) { asked.math_mode = mode; });
    if (is_lt || function.positions().of(Role::compute_type) >= 0)
        add("compute type",
            is_float64 ? Values(compute_types_of_float64)
            : is_half  ? Values(compute_types_of_half)
                       : compute_types,
            [](auto& asked, std::int32_t type) { asked.compute_type = type; });
    if (is_half && is_lt)
        add("algorithm", reductions, [](auto& asked, bool is_full) { asked.half.has_full_reduction = is_full; });
    if (is_half) {
        add("alpha and beta", scalar_places,
            [](auto& asked, std::int32_t place) { asked.half.scalars = static_cast<cublas::ScalarPlace>(place); });
        return unknowns;
    }
    if (is_float64) {
        add("cuBLAS", fp64_emulation_versions, [](auto& asked, bool has_it) { asked.has_fp64_emulation = has_it; });
        return unknowns;
    }
    if (function.positions().of(Role::algorithm) >= 0)
        add("algorithm", algorithms, [](auto& asked, std::int32_t algorithm) { asked.algorithm = algorithm; });
    if (is_lt)
        add("algorithm", lt_algorithms,
            [](auto& asked, std::int32_t format) { asked.of_algorithm = static_cast<cublas::Format>(format); });
    add("cuBLAS", bf16x9_versions, [](auto& asked, bool has_it) { asked.has_bf16x9 = has_it; });
    if (function.product().batching == Batching::groups)
        add("cuBLAS", grouped_forms, [](auto& asked, bool has_it) { asked.has_compute_type_form = has_it; });
    return unknowns;
}

cublas::PlanRequest request_of(const Function& function, const policy::MatmulCall& call,
                               const std::vector<UnknownFact>& unknowns) {
    const ProductFamily& family = function.product();
    cublas::PlanRequest request;
    request.treatment = policy::is_single(call.dtype)   ? cublas::OperandTreatment::governed
                        : policy::is_double(call.dtype) ? cublas::OperandTreatment::as_called
                                                        : cublas::OperandTreatment::observed;
    request.pointers_are_in_arrays = family.batching == Batching::pointers || family.batching == Batching::groups;
    request.is_solve = family.operation == blas::Operation::trsm;
    request.caller = call.caller;
    request.asked.control = family.control;
    request.asked.is_grouped = family.batching == Batching::groups;
    request.asked.ignores_tf32_mode = cublas::ignores_tf32_mode(family);
    request.asked.compute_capability = call.compute_capability;
    request.asked.half = {.is_half = policy::is_half(call.dtype),
                          .adds_in_fp16 = family.treatment == Treatment::observed};
    for (const UnknownFact& unknown : unknowns) unknown.set(request.asked, unknown.values.front().value);
    return request;
}

cublas::Environment read_environment(const ProcessEnvironment& environment) {
    std::vector<const char*> entries;
    for (const std::string& entry : environment.entries()) entries.push_back(entry.c_str());
    entries.push_back(nullptr);
    return cublas::read_environment(entries.data());
}

std::string words_of(const cublas::Plan& plan) {
    const std::string_view format = format_words(plan.applied, policy::Device::cuda);
    if (plan.accumulator != plan.accumulator_as_called) return "as called, but for what it adds in";
    const bool is_as_called = plan.applied != AppliedFormat::unchanged && plan.change.how == record::How::forward;
    return fmt::format("{}{}", format, is_as_called ? ", as called" : "");
}

PlannedFormat outcome_of(const cublas::Plan& plan) {
    return {plan.applied, plan.reason, plan.accumulator_as_called, plan.accumulator};
}

PlannedCall plan_on_cuda(const Function& function, const policy::MatmulCall& call, const policy::Decision& decision,
                         const policy::Policy& policy, const cublas::Environment& environment) {
    const std::vector<UnknownFact> unknowns = unknowns_of(function, call.dtype);
    const cublas::PlanRequest supposed = request_of(function, call, unknowns);
    const auto plan_of = [&](const cublas::PlanRequest& request) {
        const cublas::Plan plan = plan_request(request, decision, policy.floor, environment, policy);
        return multiplies(call) ? plan : plan_for_call_without_product(plan);
    };
    const cublas::Plan plan = plan_of(supposed);
    PlannedCall planned{.outcome = outcome_of(plan), .words = words_of(plan)};
    if (const std::string_view detail = environment_detail(plan); !detail.empty()) planned.notes.emplace_back(detail);
    if (const int bits = plan.change.mantissa_bits; bits != 0)
        planned.notes.push_back(
            fmt::format("where cuBLAS emulates it, it is to keep {} bits, or what it rounds them up to", bits));
    if (const std::string limits = limits_text(decision.algorithms); !limits.empty()) {
        const std::string source =
            decision.algorithm_rule < 0
                ? "[cuda]"
                : fmt::format("rule \"{}\"{}", policy.rules[static_cast<std::size_t>(decision.algorithm_rule)].name,
                              policy.algorithms.any() ? " and [cuda]" : "");
        planned.notes.push_back(
            fmt::format("limits of its algorithm by {}: {}; if cublasLt has none, the product runs "
                        "without them (no_algorithm)",
                        source, limits));
    }
    for (const UnknownFact& unknown : unknowns) {
        bool matters = false;
        for (const PossibleValue& value : unknown.values.subspan(1)) {
            cublas::PlanRequest request = supposed;
            unknown.set(request.asked, value.value);
            const cublas::Plan other = plan_of(request);
            const PlannedFormat outcome = outcome_of(other);
            if (outcome == planned.outcome) continue;
            matters = true;
            auto same = std::ranges::find(planned.others, outcome, &PlannedCall::OtherOutcome::outcome);
            if (same == planned.others.end()) same = planned.others.insert(same, {outcome, {}});
            same->where.push_back(fmt::format("{} {}", unknown.name, value.name));
        }
        if (matters) planned.supposed.push_back(fmt::format("{} {}", unknown.name, unknown.values.front().name));
    }
    return planned;
}

}  // namespace

PlannedCall plan_described_call(const Function& function, const policy::MatmulCall& call,
                                const policy::Decision& decision, const policy::Policy& policy,
                                const ProcessEnvironment& environment) {
    if (!is_of_cublas(function.convention)) return plan_on_cpu(function, call, decision, policy);
    return plan_on_cuda(function, call, decision, policy, read_environment(environment));
}

}  // namespace fp32shim::cli
