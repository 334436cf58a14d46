#include "shim/cublas/plan_request.hpp"

#include <algorithm>

#include "policy/words.hpp"
#include "shim/cublas/accumulation.hpp"
#include "shim/cublas/api.hpp"

namespace fp32shim::cublas {
namespace {

using policy::Reason;

void set_outcome(Plan& plan, Format format, Reason reason, const Environment& environment) {
    const Format effect = apply_tf32_override(format, environment);
    plan.applied = applied_format_of(effect);
    plan.reason = effect != format && reason == Reason::as_requested ? Reason::tf32_override : reason;
    plan.is_by_environment =
        plan.change.how == record::How::forward && ((effect == Format::bf16x9 && environment.emulates_fp32) ||
                                                    (effect == Format::fp64_emulated && environment.emulates_fp64) ||
                                                    (effect == Format::tf32 && environment.tf32_may_be_on));
}

/// A protected library, recognised by the beginning of its file name. Only a rule that names the library may lower
/// the precision of its calls. cuSOLVER, MAGMA and torch's linear algebra refine their results, and rely on more
/// precision than their products seem to need. cuDNN and cuTENSOR have their own TF32 settings, which programs set,
/// and call cublasLt only for some products.
struct ProtectedCaller {
    std::string_view prefix;
    Reason reason;
};
constexpr ProtectedCaller protected_callers[] = {
    {"libcusolver", Reason::solver},
    {"libmagma", Reason::protected_call},
    {"libtorch_cuda_linalg", Reason::protected_call},
    {"libcudnn", Reason::protected_call},
    {"libcutensor", Reason::protected_call},
};

const ProtectedCaller* protected_caller(std::string_view caller) {
    for (const ProtectedCaller& each : protected_callers)
        if (caller.starts_with(each.prefix)) return &each;
    return nullptr;
}

bool contains_trsm(std::string_view glob) {
    for (std::size_t i = 0; i + 4 <= glob.size(); ++i)
        if (policy::equal_ignoring_case(glob.substr(i, 4), "trsm")) return true;
    return false;
}

template <class Names>
bool any_names(const std::vector<std::string>& globs, const Names& names_it) {
    return std::any_of(globs.begin(), globs.end(), names_it);
}

/// Returns the reason why this decision must not lower a call's precision, or as_requested if it may. A rule lowers
/// calls of a protected library only if its caller pattern names the library. It lowers solves of other callers only
/// if it names trsm, calls that the program explicitly keeps at FP32 only if it has `lower_guarded`, and calls with
/// arrays of pointers only if it has `assume_aligned`.
Reason reason_to_forbid_lowering(const PlanRequest& request, const policy::Decision& decision,
                                 const policy::Policy& policy) {
    const policy::Rule* rule = decision.rule < 0 ? nullptr : &policy.rules[static_cast<std::size_t>(decision.rule)];
    const ProtectedCaller* caller = protected_caller(request.caller);
    const bool caller_is_named =
        caller != nullptr && rule != nullptr &&
        any_names(rule->when.caller, [&](std::string_view glob) { return glob.starts_with(caller->prefix); });
    if (caller != nullptr && !caller_is_named) return caller->reason;
    const bool function_is_named = rule != nullptr && any_names(rule->when.function, contains_trsm);
    if (request.is_solve && !function_is_named && !caller_is_named) return Reason::protected_call;
    if ((request.is_guarded || is_pedantic(request.asked)) && (rule == nullptr || !rule->lower_guarded))
        return Reason::guarded;
    const bool vouches_for_alignment = rule != nullptr && rule->assume_aligned;
    return request.pointers_are_in_arrays && !vouches_for_alignment ? Reason::alignment : Reason::as_requested;
}

/// If a call is forwarded in a math mode with bits that the shim does not know, notes in the plan that its format is
/// unknown.
void set_unknown_mode(const PlanRequest& request, Plan& plan) {
    const bool mode_is_known = has_known_math_mode(request.asked) || !depends_on_math_mode(request.asked);
    if (mode_is_known || plan.change.how != record::How::forward) return;
    plan.applied = policy::AppliedFormat::unchanged;
    plan.reason = Reason::unknown_value;
}

}  // namespace

Plan plan_request(const PlanRequest& request, const policy::Decision& decision, policy::Floor floor,
                  const Environment& environment, const policy::Policy& policy) {
    Plan plan;
    plan.decision = decision;
    const RequestedPrecision& asked = request.asked;
    const bool is_float64 = request.treatment == OperandTreatment::as_called;
    if (request.treatment == OperandTreatment::observed) return plan_accumulation(request, decision);
    if (!is_float64 && asked.control == FormatControl::none) {
        // cublasXt and the interface before version 2 have no math mode, so they compute in FP32 unless the
        // environment says otherwise.
        plan.asked = requested_format({.compute_capability = asked.compute_capability}, environment);
        plan.change.format = plan.asked;
        set_outcome(plan, plan.asked, Reason::not_governable, environment);
        return plan;
    }
    if (asked.control != FormatControl::none && !request.handle_is_known) {
        plan.reason = Reason::unknown_handle;
        return plan;
    }
    if (is_float64 ? !is_known_float64_request(asked) : !is_known_request(asked)) {
        plan.reason = Reason::unknown_value;
        return plan;
    }
    const Reason forbids_lowering = reason_to_forbid_lowering(request, decision, policy);
    if (is_float64) {
        plan.asked = requested_float64_format(asked, environment);
        const std::uint8_t bits =
            decision.rule < 0 ? 0 : policy.rules[static_cast<std::size_t>(decision.rule)].mantissa_bits;
        plan.change = plan_change_of_float64(asked, environment, forbids_lowering, decision, bits);
    } else {
        // policy::decide() has already raised all decisions except `native` to the floor.
        if (decision.precision != policy::Precision::native) floor = policy::Floor::none;
        plan.asked = requested_format(asked, environment);
        plan.change = plan_change(asked, environment, forbids_lowering, decision, floor, policy);
    }
    set_outcome(plan, plan.change.format, plan.change.reason, environment);
    set_unknown_mode(request, plan);
    return plan;
}

Plan plan_unchanged(Plan plan, Reason reason, const Environment& environment) {
    plan.change = {};
    plan.accumulator = plan.accumulator_as_called;
    if (plan.applied == policy::AppliedFormat::unchanged)
        plan.reason = reason;  // the plan of a float16 or bfloat16 product has no format that could be set
    else
        set_outcome(plan, plan.asked, reason, environment);
    return plan;
}

Plan plan_without_pedantic(Plan plan, const RequestedPrecision& asked, const Environment& environment) {
    RequestedPrecision changed = asked;
    changed.math_mode = (asked.math_mode & kept_math_mode_bits(plan.change.format)) | math_default;
    const Format format = requested_format(changed, environment);
    const Reason reason = format == plan.change.format ? plan.reason : Reason::library_refused;
    plan.change.math_mode = math_default;
    plan.change.format = format;
    set_outcome(plan, format, reason, environment);
    return plan;
}

Plan plan_for_call_without_product(Plan plan) {
    plan.accumulator_as_called = plan.accumulator = policy::Accumulator::unknown;
    if (plan.applied == policy::AppliedFormat::unchanged && plan.change.how != record::How::forward) {
        plan.change = {};
        plan.reason = Reason::no_product;
    }
    if (plan.applied == policy::AppliedFormat::unchanged || plan.reason == Reason::not_governable) return plan;
    const bool is_float64 =
        plan.applied == policy::AppliedFormat::fp64 || plan.applied == policy::AppliedFormat::fp64_emulated;
    plan.change = {};
    plan.applied = is_float64 ? policy::AppliedFormat::fp64 : policy::AppliedFormat::fp32;
    plan.reason = Reason::no_product;
    return plan;
}

std::string_view environment_detail(const Plan& plan) {
    if (!plan.is_by_environment) return {};
    if (plan.applied == policy::AppliedFormat::fp64_emulated)
        return "CUBLAS_EMULATE_DOUBLE_PRECISION lets cuBLAS emulate float64";
    return plan.applied == policy::AppliedFormat::bf16x9
               ? "CUBLAS_EMULATE_SINGLE_PRECISION lets cuBLAS emulate float32"
               : "NVIDIA_TF32_OVERRIDE has a value that may switch TF32 on";
}

}  // namespace fp32shim::cublas
