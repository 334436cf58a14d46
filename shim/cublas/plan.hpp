// The second and third step of a cuBLAS call: what is decided, and how to honour it. Kept per call site as one word.
#pragma once

#include "shim/cublas/make_plan.hpp"
#include "shim/cublas/product.hpp"
#include "shim/decision/decide.hpp"
#include "shim/decision/record_call.hpp"

namespace fp32shim::cublas {

/// The plan for a call of this site. `describe` fills in its words; it is asked only where nothing is kept.
/// Thread-safe, lock-free.
template <class Describe>
Plan plan_call(Site& site, const Product& product, const Settings& in_force, const Describe& describe);

/// What is recorded of a plan that has run.
Done done_by(const Site& site, const Plan& plan);

/// What is recorded where the change could not be made, for this reason, and the call ran as the program made it.
Done done_unchanged(const Site& site, const Plan& plan, policy::Reason reason);

// ---- details -----------------------------------------------------------------------------------------------------

/// Equal plans share a number.
const Plan& interned_plan(std::uint64_t number);
void keep_plan(Site& site, const Product& product, const Plan& plan, const Settings& in_force);

Plan plan_decision(const Site& site, const Product& product, const policy::Decision& decision,
                   const Settings& in_force);

template <class Describe>
Plan plan_call(Site& site, const Product& product, const Settings& in_force, const Describe& describe) {
    const std::uint64_t kept = site.cublas.plan.load(std::memory_order_acquire);
    if (product.key != key_unknown && (kept & (kept_bit | key_mask)) == (kept_bit | product.key))
        return interned_plan(kept >> number_shift & number_mask);
    policy::MatmulCall call;
    describe(call);
    const policy::Decision decision = decide_call(site, in_force, call);
    const Plan plan = plan_decision(site, product, decision, in_force);
    if (product.key != key_unknown && !in_force.looks_at_sizes && !scopes_in_use())
        keep_plan(site, product, plan, in_force);
    return plan;
}

}  // namespace fp32shim::cublas
