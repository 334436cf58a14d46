#include "shim/cublas/make_plan.hpp"

namespace fp32shim::cublas {
namespace {

using policy::Reason;

void tell(Plan& plan, Format format, Reason reason, const Environment& environment) {
    const Format effect = in_effect(format, environment);
    plan.applied = applied_of(effect);
    plan.reason = effect != format && reason == Reason::as_requested ? Reason::tf32_override : reason;
    plan.is_by_environment =
        plan.change.how == record::How::forward && ((effect == Format::bf16x9 && environment.emulates_fp32) ||
                                                    (effect == Format::tf32 && environment.tf32_may_be_on));
}

bool vouches_for_alignment(const policy::Decision& decision, const policy::Policy& policy) {
    return decision.rule >= 0 && policy.rules[static_cast<std::size_t>(decision.rule)].assume_aligned;
}

bool names_solver(const policy::Decision& decision, const policy::Policy& policy) {
    if (decision.rule < 0) return false;
    for (const std::string& caller : policy.rules[static_cast<std::size_t>(decision.rule)].when.caller)
        if (caller.starts_with(solver_name)) return true;
    return false;
}

}  // namespace

Plan make_plan(const Request& request, const policy::Decision& decision, policy::Floor floor,
               const Environment& environment, const policy::Policy& policy) {
    Plan plan;
    plan.decision = decision;
    if (request.counted == Counted::observed) {
        plan.reason = Reason::observed;
    } else if (request.asked.road == Road::none) {
        plan.reason = Reason::not_governable;
    } else if (!request.handle_is_known) {
        plan.reason = Reason::unknown_handle;
    } else if (!is_known(request.asked)) {
        plan.reason = Reason::unknown_value;
    } else {
        const Restraints restraints{
            .pointers_may_be_unaligned = request.pointers_are_in_arrays && !vouches_for_alignment(decision, policy),
            .is_of_solver = request.is_of_solver && !names_solver(decision, policy)};
        // Every decision but `native` is clamped already.
        if (decision.precision != policy::Precision::native) floor = policy::Floor::none;
        plan.asked = asked_format(request.asked, environment);
        plan.change = plan_change(request.asked, environment, restraints, decision, floor, policy);
        tell(plan, plan.change.format, plan.change.reason, environment);
    }
    return plan;
}

Plan plan_unchanged(Plan plan, Reason reason, const Environment& environment) {
    plan.change = {};
    tell(plan, plan.asked, reason, environment);
    return plan;
}

Plan plan_for_nothing(Plan plan) {
    if (plan.applied == policy::Applied::unchanged) return plan;
    plan.change = {};
    plan.applied = policy::Applied::fp32;
    plan.reason = Reason::no_product;
    return plan;
}

std::string_view detail_of(const Plan& plan) {
    if (!plan.is_by_environment) return {};
    return plan.applied == policy::Applied::bf16x9 ? "CUBLAS_EMULATE_SINGLE_PRECISION lets cuBLAS emulate float32"
                                                   : "NVIDIA_TF32_OVERRIDE has a value that may switch TF32 on";
}

}  // namespace fp32shim::cublas
