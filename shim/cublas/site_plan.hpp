// The second and third step of a cuBLAS call: the decision at which precision it runs, and the plan how to run it so.
// Each call site keeps a plan for later calls, in one 64-bit word (plan_key.hpp).
#pragma once

#include "shim/cublas/plan_request.hpp"
#include "shim/cublas/product.hpp"
#include "shim/decision/decide_call.hpp"
#include "shim/decision/record_call.hpp"

namespace fp32shim::cublas {

/// Returns the plan with this number. Equal plans have the same number.
const Plan& plan_by_number(std::uint64_t number);
void keep_plan(Site& site, const Product& product, const Plan& plan, const Settings& in_force);

Plan plan_decision(const Site& site, const Product& product, const policy::Decision& decision,
                   const Settings& in_force);

/// Returns the plan that the call site keeps for calls with the key of `product`, or nullptr if it keeps none. While
/// audits are on, call sites of products keep no plan.
inline const Plan* kept_plan(const Site& site, const Product& product) {
    const std::uint64_t kept = site.cublas.plan.load(std::memory_order_acquire);
    const bool is_kept = product.key != key_unknown && (kept & (kept_bit | key_mask)) == (kept_bit | product.key);
    return is_kept ? &plan_by_number(kept >> number_shift & number_mask) : nullptr;
}

/// Makes a plan. The call site keeps it if it is valid for all calls with the key of `product`.
template <class Describe>
Plan make_and_keep_plan(Site& site, const Product& product, const Settings& in_force, const Describe& describe) {
    policy::MatmulCall call;
    describe(call);
    policy::Decision decision = decide_call(site, in_force, call);
    if (in_force.audits) decision = policy::decision_before_audits(decision, in_force.policy, call.dtype);
    const Plan plan = plan_decision(site, product, decision, in_force);
    if (product.key != key_unknown && !in_force.looks_at_sizes && !scopes_affect_decisions(in_force))
        keep_plan(site, product, plan, in_force);
    return plan;
}

/// Returns the plan for a call. Calls `describe` to fill in the call only if the call site keeps no plan for it.
/// Thread-safe, lock-free.
template <class Describe>
Plan plan_call(Site& site, const Product& product, const Settings& in_force, const Describe& describe) {
    const Plan* const kept = kept_plan(site, product);
    return kept != nullptr ? *kept : make_and_keep_plan(site, product, in_force, describe);
}

ExecutionOutcome done_as_planned(const Site& site, const Plan& plan);

/// Returns the outcome of a call that ran as the program made it, since it could not be changed. `reason` is the
/// reason why.
ExecutionOutcome done_unchanged(const Site& site, const Plan& plan, policy::Reason reason);

/// Returns the key of the recording's row in which later calls with these arguments are counted, if they take the
/// short path of express.cpp. Returns an empty key if the call site does not keep this plan, or if this call failed
/// or did not run as planned.
ExpressKey express_key_after(const Site& site, const Frame& frame, const Product& product, const Plan& plan,
                             const ExecutionOutcome& done, std::uint32_t change_count);

}  // namespace fp32shim::cublas
