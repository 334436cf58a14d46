#include "shim/audit/groups.hpp"

#include <sys/mman.h>
#include <sys/syscall.h>

#include <span>

#include "shim/thread/thread_context.hpp"
#include "shim/where/location.hpp"
#include "system/hash.hpp"
#include "system/kept_state.hpp"
#include "system/raw_syscall.hpp"
#include "system/thread_sanitizer.hpp"

namespace fp32shim::audit {
namespace {

using policy::AuditFormat;
using policy::Precision;
using policy::Reason;

constexpr std::size_t group_limit = 1 << 16;
constexpr std::size_t longest_search = 64;
constinit std::atomic<CallGroup*> groups{nullptr};  // points to an array of group_limit groups

/// Returns the table of groups, and maps its memory on the first call. Returns nullptr if there is no memory. A
/// forked child continues with a copy of the table.
CallGroup* all_groups() {
    CallGroup* known = groups.load(std::memory_order_acquire);
    if (known != nullptr) return known;
    constexpr long size = group_limit * sizeof(CallGroup);
    const long pages = system::raw::syscall6(SYS_mmap, 0, size, PROT_READ | PROT_WRITE,
                                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (pages < 0 && pages > -4096) return nullptr;
    system::note_mapped();
    auto* const made = reinterpret_cast<CallGroup*>(pages);  // a group that consists of zero bytes is valid and has
                                                             // no audits
    if (groups.compare_exchange_strong(known, made, std::memory_order_acq_rel)) return made;
    system::note_unmapping();
    system::raw::syscall6(SYS_munmap, pages, size);
    return known;
}

/// Returns a pseudo-random number of at least 0 and less than 1.
double fraction_of(std::uint64_t seed, std::uint64_t call) {
    const std::uint64_t state = (seed ^ system::golden_ratio) + call * 0xbf58476d1ce4e5b9U;
    return static_cast<double>(system::splitmix64(state) >> 11) * 0x1p-53;
}

/// A format that a tolerance may allow, and the precision that asks for it. Each array below begins with the cheapest
/// format.
struct CandidateFormat {
    Precision precision;
    AuditFormat format;
};
constexpr CandidateFormat candidates[] = {{Precision::medium, AuditFormat::bf16},
                                          {Precision::high, AuditFormat::tf32}};
constexpr CandidateFormat candidates_of_float64[] = {
    candidates[0], candidates[1], {Precision::single, AuditFormat::fp32}};

/// Returns the precision of a product that runs in the type of its operands.
Precision exact_precision(bool is_double) { return is_double ? Precision::fp64 : Precision::highest; }

const policy::Rule* rule_of(const policy::Decision& decision, const policy::Policy& policy) {
    return decision.rule < 0 ? nullptr : &policy.rules[static_cast<std::size_t>(decision.rule)];
}

/// Returns the tolerance by which audits of calls with this decision are judged.
policy::Tolerance tolerance_of(const policy::Decision& decision, const policy::Policy& policy) {
    const policy::Rule* const rule = rule_of(decision, policy);
    return rule != nullptr && rule->tolerance ? *rule->tolerance
                                              : policy::Tolerance{policy.audit_tolerance, policy.audit_metric};
}

/// Chooses the cheapest format that the group's audits have shown to be within the tolerance. Never chooses a format
/// with fewer digits than the decision's own precision.
void judge_by_tolerance(const policy::Tolerance& tolerance, bool is_double, JudgedDecision& verdict) {
    bool is_allowed = false;  // becomes true at the decision's own format; a floor may forbid cheaper formats
    bool is_beyond = false;
    const std::span<const CandidateFormat> tried = is_double ? std::span<const CandidateFormat>(candidates_of_float64)
                                                             : std::span<const CandidateFormat>(candidates);
    for (const auto& [precision, format] : tried) {
        is_allowed |= precision == verdict.decision.precision;
        if (!is_allowed || verdict.group == nullptr) continue;
        const std::uint32_t audits = verdict.group->audit_count(format);  // the count is read before the error, since
                                                                          // add_error() stores the error first
        if (verdict.group->worst_error(format) > tolerance.error) {
            is_beyond = true;
            continue;
        }
        if (audits < first_audits) {
            verdict.tested = format;
            break;
        }
        verdict.decision.precision = precision;
        if (is_beyond) verdict.decision.reason = Reason::over_tolerance;
        return;
    }
    if (!is_allowed) return;  // the decision asks for none of the tried formats, so it stays as it is
    verdict.decision.precision = exact_precision(is_double);
    verdict.decision.reason = verdict.tested || verdict.group == nullptr ? Reason::learning : Reason::over_tolerance;
}

/// Makes the call run in the type of its operands if an audit of its group found an error beyond `tolerance` in the
/// decision's format.
void judge_by_guard(double tolerance, bool is_double, JudgedDecision& verdict) {
    const Precision exact = exact_precision(is_double);
    const auto applied = policy::format_of(verdict.decision.precision);
    if (!applied || *applied == policy::format_of(exact)) return;
    const auto format = policy::audit_format_of(*applied);
    if (!format || verdict.group->worst_error(*format) <= tolerance) return;
    verdict.decision = {
        .requested = exact, .precision = exact, .source = policy::Source::guard_pin, .reason = Reason::pinned};
}

}  // namespace

bool CallGroup::claim_early_audit(std::uint32_t most) {
    return early_.load(std::memory_order_relaxed) < most && early_.fetch_add(1, std::memory_order_relaxed) < most;
}

void CallGroup::add_error(AuditFormat tested, double error) {
    FormatErrors& errors = errors_[static_cast<std::size_t>(tested)];
    double worst = errors.worst.load(std::memory_order_relaxed);
    while (error > worst && !errors.worst.compare_exchange_weak(worst, error, std::memory_order_relaxed)) {
    }
    errors.audits.fetch_add(1, std::memory_order_release);  // the count is stored last, so that a thread that sees
                                                            // the audit also sees its error
}

std::uint32_t CallGroup::audit_count(AuditFormat tested) const {
    return errors_[static_cast<std::size_t>(tested)].audits.load(std::memory_order_acquire);
}

double CallGroup::worst_error(AuditFormat tested) const {
    return errors_[static_cast<std::size_t>(tested)].worst.load(std::memory_order_relaxed);
}

CallGroup* find_or_add_group(std::uint64_t key) {
    const std::uint64_t first = system::table_index(system::fold_high_half(key), 16);
    CallGroup* const table = all_groups();
    for (std::size_t i = 0; table != nullptr && i < longest_search; ++i) {
        CallGroup& group = table[(first + i) % group_limit];
        std::uint64_t found = group.key_.load(std::memory_order_relaxed);
        if (found == 0 && group.key_.compare_exchange_strong(found, key, std::memory_order_relaxed)) return &group;
        if (found == key) return &group;
    }
    return nullptr;
}

std::uint64_t group_key(const Site& site, const Settings& in_force, const policy::MatmulCall& call) {
    system::Hash hash;
    hash.add(site.number).add(static_cast<std::uint64_t>(call.m)).add(static_cast<std::uint64_t>(call.n));
    hash.add(static_cast<std::uint64_t>(call.k)).add(static_cast<std::uint64_t>(call.batch)).add(scope_key());
    hash.add(in_force.generation);  // a reload of the settings begins new groups
    const std::uint64_t group = hash.value();
    return in_force.distinguishes_call_paths() ? where::combined_row_key(group, where::location_key(in_force))
                                               : group;
}

JudgedDecision judge_decision(const policy::Decision& decision, std::uint64_t group_key, const policy::Policy& policy,
                              bool is_double) {
    const system::ErrnoAndFloatGuard kept;  // the comparisons below may raise floating-point flags, which this guard
                                            // restores
    JudgedDecision verdict{decision, find_or_add_group(group_key)};
    const policy::Rule* const rule = rule_of(decision, policy);
    if (rule != nullptr && rule->tolerance)
        judge_by_tolerance(*rule->tolerance, is_double, verdict);
    else if (policy.audit_action == policy::AuditAction::pin && verdict.group != nullptr)
        judge_by_guard(policy.audit_tolerance, is_double, verdict);
    return verdict;
}

void set_audit_formats(record::Audit& audit, const policy::Policy& policy, std::optional<AuditFormat> tested,
                       AuditFormat ran, bool is_double) {
    const AuditFormat own = is_double ? AuditFormat::fp64 : AuditFormat::fp32;
    const AuditFormat wider = is_double ? AuditFormat::double_double : AuditFormat::fp64;
    const std::optional<AuditFormat> comparison_format = is_double ? policy.audit_float64 : policy.audit_against;
    audit.reference = own;
    const bool is_guarded = policy.audit_action == policy::AuditAction::pin && ran != own;
    if (tested) {
        audit.tested = *tested;
    } else if (comparison_format == wider) {
        audit.reference = wider;
        audit.tested = ran;
    } else if (is_guarded) {
        audit.tested = ran;  // a guard judges the format in which the calls of the group run
    } else {
        audit.tested = comparison_format.value_or(ran != own  ? ran
                                                  : is_double ? AuditFormat::fp32
                                                              : AuditFormat::tf32);
    }
}

bool choose_for_audit(JudgedDecision& verdict, const policy::Policy& policy) {
    // An audit that had no memory or met a NaN shows nothing about the format. If all audits of a group are of this
    // kind, `most` keeps the group from auditing every call.
    const std::uint32_t most = verdict.tested ? 4 * first_audits : first_audits;
    verdict.is_early = verdict.group != nullptr && verdict.group->claim_early_audit(most);
    if (verdict.is_early) return true;
    ThreadContext* const context = thread_context();
    return context != nullptr && fraction_of(policy.audit_seed, ++context->audit_calls) < policy.audit_sample;
}

void store_audit_outcome(const JudgedDecision& verdict, const policy::Policy& policy, record::Audit& audit) {
    audit.notes |= record::audit_noted;
    if (verdict.is_early) audit.flags |= record::audit_early;
    if ((audit.flags & (record::audit_skipped | record::audit_bad_operand)) != 0) return;
    const policy::Tolerance tolerance = tolerance_of(verdict.decision, policy);
    if ((audit.notes & record::audit_noise) != 0 && tolerance.metric != policy::ErrorMetric::component) return;
    const double error = audit.errors.error_by(tolerance.metric);
    if (error > tolerance.error) audit.flags |= record::audit_exceeds_tolerance;
    if (verdict.group != nullptr) verdict.group->add_error(audit.tested, error);
}

}  // namespace fp32shim::audit
