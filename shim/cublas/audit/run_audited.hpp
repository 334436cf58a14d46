// The steps of a call while audits are on: results of earlier audits may change its decision, and its products may
// be computed again.
#pragma once

#include <cerrno>
#include <optional>
#include <span>

#include "shim/audit/float_environment.hpp"
#include "shim/audit/groups.hpp"
#include "shim/cublas/audit/audit.hpp"
#include "shim/cublas/audit/kept_bits.hpp"
#include "shim/cublas/site_plan.hpp"

namespace fp32shim::cublas {

struct AuditedRun {
    policy::Decision decision;
    ExecutionOutcome done;
    std::int32_t status = 0;
    bool is_audited = false;
    record::Audit audit{};
};

/// Returns the decision about a call, before results of audits change it. If a rule with a tolerance asks for a
/// format that the function does not have, decides for the next higher format that the function has.
inline policy::Decision decide_for_audits(Site& site, const Product& product, const Settings& in_force,
                                          policy::MatmulCall& call) {
    policy::Decision decision = decide_call(site, in_force, call);
    const bool has_tolerance =
        decision.rule >= 0 && in_force.policy.rules[static_cast<std::size_t>(decision.rule)].tolerance;
    const bool may_lower =
        decision.precision == policy::Precision::medium || decision.precision == policy::Precision::high;
    if (!has_tolerance || !may_lower) return decision;
    if (product.asked.ignores_tf32_mode) {
        decision.precision = policy::Precision::highest;
        decision.reason = policy::Reason::no_such_format;
    } else if (!can_multiply_in(Format::bf16, site, product)) {
        decision.precision = policy::Precision::high;
    }
    return decision;
}

/// Plans a call, runs it by `run(plan, done)`, which returns the library's status, and audits the call if an audit is
/// due. `singles` are the call's products, whose arguments have been read; if `singles` is nullptr, the products are
/// never compared. If cuBLAS may emulate a float64 product, it is also asked how many bits it kept. `is_nothing` is
/// true if the call multiplies nothing.
template <class Run>
AuditedRun run_audited(Site& site, AuditLauncher& launcher, AuditedBatch* singles, bool is_nothing,
                       policy::MatmulCall& call, const Settings& in_force, const Run& run) {
    audit::JudgedDecision verdict{decide_for_audits(site, launcher.product, in_force, call)};
    const bool is_double = policy::is_double(call.dtype);
    if (singles != nullptr && !is_double)
        verdict =
            audit::judge_decision(verdict.decision, audit::group_key(site, in_force, call), in_force.policy, false);
    else
        verdict.decision = policy::decision_before_audits(verdict.decision, in_force.policy, call.dtype);
    Plan plan = plan_decision(site, launcher.product, verdict.decision, in_force);
    if (is_nothing) plan = plan_for_call_without_product(plan);
    AuditedRun result{verdict.decision, done_as_planned(site, plan)};
    // A solve consists of several products, but cuBLAS would tell the number of bits of only one of them, so solves
    // are not asked about.
    const bool is_emulated = plan.applied == policy::AppliedFormat::fp64_emulated &&
                             launcher.product.handle != nullptr &&
                             site.function->product().operation != blas::Operation::trsm;
    const bool is_compared =
        singles != nullptr && (!is_double || is_emulated || audits_against_double_double(in_force.policy));
    if (is_double && (is_compared || is_emulated))
        verdict.group = audit::find_or_add_group(audit::group_key(site, in_force, call));
    if ((!is_compared && !is_emulated) || plan.applied == policy::AppliedFormat::unchanged ||
        !audit::choose_for_audit(verdict, in_force.policy)) {
        result.status = run(plan, result.done);
        return result;
    }
    const HandleLockGuard guard(launcher.product.handle);
    const int errno_before = errno;
    launcher.set_up(launcher);
    std::optional<KeptBitsQuery> kept;
    if (is_emulated) launcher.kept_bits = kept.emplace(launcher).address();
    std::optional<CallAudit> call_audit;
    if (is_compared) call_audit.emplace(launcher, *singles, in_force.policy, verdict.tested);
    errno = errno_before;
    result.status = run(plan, result.done);
    const bool has_run = result.status == status_success;
    const int errno_after = errno;
    if (kept) kept->store_answer(has_run, result.done);
    // A float64 product that cuBLAS did not emulate after all ran in FP64, so there is nothing to compare it with.
    const policy::AppliedFormat ran =
        is_double ? result.done.actual.value_or(result.done.applied) : result.done.applied;
    if (ran == policy::AppliedFormat::fp64 && !audits_against_double_double(in_force.policy)) call_audit.reset();
    if (has_run && call_audit) {
        result.is_audited = true;
        const audit::QuietFloatEnvironment environment(audit::QuietFloatEnvironment::Settings::as_the_program);
        result.audit = call_audit->compare_results(ran);
        audit::store_audit_outcome(verdict, in_force.policy, result.audit);
    }
    kept.reset();
    errno = errno_after;
    return result;
}

inline void record_audited(const Site& site, const Settings& in_force, const policy::MatmulCall& call,
                           const AuditedRun& run, CallTime& time) {
    ExecutionOutcome done = run.done;
    done.status = run.status;
    const ResultFindings found{std::span(&run.audit, 1)};
    record_call(site, in_force, call, run.decision, done, &time, {}, run.is_audited ? &found : nullptr);
}

}  // namespace fp32shim::cublas
