// Decides the precision of a call in three steps: by the strongest source that asks for a precision
// (choose_precision), by the floor (raised_to_floor), and by the abilities of the device (decide_on_cpu,
// decide_on_cuda).
#include "policy/decide.hpp"

#include <algorithm>

#include "policy/words.hpp"

namespace fp32shim::policy {
namespace {

/// The precision that a device can run, and the reason if it differs from the requested precision.
struct DeviceDecision {
    Precision precision;
    Reason reason;
};

/// Returns the precision that replaces `precision` in products of operands of type `dtype`. In products of float64,
/// `single` replaces `highest`, which means FP32. It also replaces formats of several parts, because a floor may ask
/// for them but float64 does not have them.
Precision precision_for_type(Dtype dtype, Precision precision) {
    const bool stays = precision != Precision::highest && is_allowed_for_float64(precision);
    return is_double(dtype) && !stays ? Precision::single : precision;
}

/// A call, and the rules to try for it: the rules with the indices `some` or, if `some` is absent, all rules of the
/// policy.
struct RuleSearch {
    const MatmulCall& call;
    const ProcessDescription& process;
    const Policy& policy;
    std::optional<std::span<const std::uint16_t>> some;

    /// Returns the index in Policy::rules of the first rule for which `is_wanted` returns true, or -1 if there is
    /// none.
    template <class IsWanted>
    std::int32_t find_first(const IsWanted& is_wanted) const {
        const std::size_t count = some ? some->size() : policy.rules.size();
        for (std::size_t i = 0; i < count; ++i) {
            const std::size_t index = some ? (*some)[i] : i;
            if (is_wanted(policy.rules[index])) return static_cast<std::int32_t>(index);
        }
        return -1;
    }
    std::int32_t find_deciding_rule() const {
        return find_first([&](const Rule& rule) { return decides_call(rule, call, process); });
    }
    const Rule& rule(std::int32_t index) const { return policy.rules[static_cast<std::size_t>(index)]; }
};

/// Returns the precision that the strongest Source asks for, and this source.
Decision choose_precision(const RuleSearch& search, const PrecisionOverrides& overrides) {
    const Dtype dtype = search.call.dtype;
    const bool only_rules_apply = is_double(dtype);
    if (overrides.pinned)
        return {.requested = only_rules_apply ? Precision::native : Precision::highest, .source = Source::guard_pin};
    if (const std::int32_t index = search.find_deciding_rule(); index >= 0)
        return {.requested = precision_for_type(dtype, search.rule(index).precision),
                .source = Source::rule,
                .rule = index};
    if (only_rules_apply) return {};
    if (overrides.thread) return {.requested = *overrides.thread, .source = Source::thread};
    if (overrides.process) return {.requested = *overrides.process, .source = Source::process};
    return {.requested = search.policy.default_precision, .source = search.policy.default_source};
}

/// Returns true if the GPU is known to have at least the policy's minimum compute capability for TF32.
bool has_tf32(const MatmulCall& call, const Policy& policy) {
    return call.compute_capability > 0 && call.compute_capability >= policy.min_compute_capability;
}

Precision resolve_automatic(const MatmulCall& call, const Policy& policy) {
    if (is_double(call.dtype)) return Precision::native;
    const bool possible = call.device == Device::cuda ? has_tf32(call, policy) : policy.cpu_mode == CpuMode::emulate;
    return possible ? Precision::high : Precision::native;
}

/// Returns the strictest floor that allows a precision. `native` passes every floor: on the CPU, it is FP32, and on
/// CUDA, it is the program's own request, which is not known here and which a later step (the plan) compares with the
/// floor.
Floor floor_met_by_precision(Precision precision, bool allow_bf16x9) {
    const std::optional<AppliedFormat> format = format_of(precision);
    if (!format || (allow_bf16x9 && format == AppliedFormat::bf16x9)) return Floor::fp32;
    return floor_met_by(*format).value_or(Floor::fp32);
}

/// Returns `wanted` if the floor allows it, else the least exact precision that the floor allows.
Precision raised_to_floor(Precision wanted, Floor floor, bool allow_bf16x9) {
    if (floor_met_by_precision(wanted, allow_bf16x9) >= floor) return wanted;
    if (wanted == Precision::fp64_emulated) return Precision::fp64;  // it is not known how exact emulation is
    if (floor <= Floor::fp16) return Precision::fp16;
    if (floor == Floor::bf16) return Precision::medium;
    if (floor == Floor::tf32) return Precision::high;
    return floor == Floor::bf16x9 && allow_bf16x9 ? Precision::bf16x9 : Precision::highest;
}

/// Returns the first precision in precision_words that asks for `format`, or `highest` if there is none.
Precision precision_for(AppliedFormat format) {
    for (const auto& [word, precision] : precision_words)
        if (format_of(precision) == format) return precision;
    return Precision::highest;
}

DeviceDecision decide_on_cuda(Precision wanted, const MatmulCall& call, const Policy& policy) {
    const std::optional<AppliedFormat> format = format_of(wanted);
    if (!format) return {wanted, Reason::as_requested};
    if (is_double(call.dtype)) {
        if (*format == AppliedFormat::fp64) return {wanted, Reason::as_requested};
        if (*format != AppliedFormat::fp64_emulated) return {Precision::native, Reason::float64_on_gpu};
        if (gpu_supports(*format, call.compute_capability)) return {wanted, Reason::as_requested};
        return {Precision::native, Reason::fp64_emulation_unavailable};
    }
    const AppliedFormat nearest = nearest_gpu_format(*format);
    const Reason reason = nearest == *format ? Reason::as_requested : Reason::no_such_format;
    if (nearest == AppliedFormat::fp32) return {Precision::highest, reason};
    if (nearest == AppliedFormat::bf16x9) {
        if (!gpu_supports(nearest, call.compute_capability)) return {Precision::highest, Reason::bf16x9_unavailable};
    } else if (!has_tf32(call, policy)) {
        return {Precision::highest, Reason::compute_capability};
    }
    return {precision_for(nearest), reason};
}

/// Returns the precision that the CPU can run. The result is `native` if `wanted` asks for the operands' own format,
/// or if the CPU cannot run `wanted` in this `mode`.
DeviceDecision decide_on_cpu(Precision wanted, Dtype dtype, CpuMode mode) {
    const AppliedFormat as_called = native_format(dtype);
    if (format_of(wanted).value_or(as_called) == as_called) return {Precision::native, Reason::as_requested};
    if (wanted == Precision::fp64_emulated) return {Precision::native, Reason::fp64_emulation_unavailable};
    const bool has_units = mode == CpuMode::accelerate && wanted == Precision::medium && is_single(dtype);
    if (mode == CpuMode::emulate || has_units) return {wanted, Reason::as_requested};
    const Reason reason = mode == CpuMode::off            ? Reason::cpu_mode_off
                          : mode == CpuMode::reproducible ? Reason::cpu_mode_reproducible
                                                          : Reason::accelerate_has_bf16_only;
    return {Precision::native, reason};
}

/// Adds limits on algorithms to the decision on a product of cublasLt, whatever its type: the limits in [cuda], and
/// the limits of the first matching rule that has any.
Decision with_algorithm_limits(Decision decision, const RuleSearch& search) {
    if (search.call.function != "cublasLtMatmul") return decision;
    decision.algorithms = search.policy.algorithms;
    decision.algorithm_rule = search.find_first([&](const Rule& rule) {
        return rule.algorithms.any() && conditions_match(rule, search.call, search.process);
    });
    if (decision.algorithm_rule >= 0) decision.algorithms |= search.rule(decision.algorithm_rule).algorithms;
    return decision;
}

/// Decides the type in which a half product on a GPU adds. No precision, floor or pin affects this type.
Decision decide_accumulation(const RuleSearch& search) {
    Decision decision{.reason = Reason::observed, .accumulate = search.policy.accumulate};
    if (decision.accumulate == Accumulate::fp32) decision.source = Source::file;
    decision.rule = search.find_deciding_rule();
    if (decision.rule >= 0) {
        decision.source = Source::rule;
        decision.accumulate = *search.rule(decision.rule).accumulate;
    }
    if (decision.accumulate == Accumulate::fp32) decision.reason = Reason::as_requested;
    return decision;
}

Decision decide_by_rules(const RuleSearch& search, const PrecisionOverrides& overrides) {
    const MatmulCall& call = search.call;
    const Policy& policy = search.policy;
    if (is_half(call.dtype) && call.device == Device::cuda) return decide_accumulation(search);
    // Other products of narrower types than float32 are counted and left alone.
    if (!is_single(call.dtype) && !is_double(call.dtype)) return {.reason = Reason::observed};

    Decision decision = choose_precision(search, overrides);
    const Precision wanted =
        decision.requested == Precision::automatic ? resolve_automatic(call, policy) : decision.requested;
    const Precision allowed = precision_for_type(
        call.dtype, raised_to_floor(wanted, std::max(policy.floor, overrides.floor), policy.allow_bf16x9));
    const DeviceDecision outcome = call.device == Device::cuda ? decide_on_cuda(allowed, call, policy)
                                                               : decide_on_cpu(allowed, call.dtype, policy.cpu_mode);

    decision.precision = outcome.precision;
    decision.reason = decision.source == Source::guard_pin ? Reason::pinned
                      : allowed != wanted                  ? Reason::floor
                                                           : outcome.reason;
    return decision;
}

}  // namespace

Decision decision_before_audits(Decision decision, const Policy& policy, Dtype dtype) {
    const bool has_tolerance = decision.rule >= 0 && policy.rules[static_cast<std::size_t>(decision.rule)].tolerance;
    const std::optional<AppliedFormat> format = format_of(decision.precision);
    if (!has_tolerance || !format || *format == native_format(dtype)) return decision;
    decision.precision = is_double(dtype) ? Precision::fp64 : Precision::highest;
    decision.reason = Reason::learning;
    return decision;
}

Decision decide(const MatmulCall& call, const ProcessDescription& process, const Policy& policy,
                const PrecisionOverrides& overrides, std::optional<std::span<const std::uint16_t>> rules) {
    const RuleSearch search{call, process, policy, rules};
    return with_algorithm_limits(decide_by_rules(search, overrides), search);
}

}  // namespace fp32shim::policy
