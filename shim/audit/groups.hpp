// Groups of calls that are audited, counted or shown together, with the results of their audits.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <optional>

#include "policy/decide.hpp"
#include "policy/policy.hpp"
#include "policy/words.hpp"
#include "record/audit.hpp"
#include "shim/entry/site.hpp"
#include "shim/settings/settings.hpp"

namespace fp32shim::audit {

/// The number of audits that a group needs before it is judged. That many of its first calls are audited, whatever
/// the policy's fraction is.
inline constexpr std::uint32_t first_audits = 4;

/// Calls of one site with the same sizes, scope and path, under one reading of the settings. Shared by all threads,
/// never freed. A call that is neither audited nor counted only reads the group.
class CallGroup {
  public:
    /// Counts a call, for rules that depend on a call's number, and returns that number, from 1.
    std::int64_t next_call_number() { return 1 + calls_.fetch_add(1, std::memory_order_relaxed); }
    /// Counts an audit among the first calls of the group. Returns false if there were `most` already.
    bool claim_early_audit(std::uint32_t most);

    /// Returns true if a log has shown the group's decision.
    bool was_shown_in_log() const { return calls_.load(std::memory_order_relaxed) != 0; }
    /// Notes that a log now shows the group's decision. Returns false if a log has shown it before.
    bool mark_shown_in_log() { return next_call_number() == 1; }

    /// Notes the error of an audit, in the metric by which the group is judged.
    void add_error(policy::AuditFormat tested, double error);
    /// Returns the number of audits of a format.
    std::uint32_t audit_count(policy::AuditFormat tested) const;
    /// Returns the largest error of a format in any audit; 0 if there were none.
    double worst_error(policy::AuditFormat tested) const;

  private:
    friend CallGroup* find_or_add_group(std::uint64_t key);
    struct FormatErrors {
        std::atomic<std::uint32_t> audits;
        std::atomic<double> worst;
    };
    static constexpr std::size_t format_count =
        1 +
        static_cast<std::size_t>(
            std::ranges::max(policy::audit_format_words, {}, &policy::NamedValue<policy::AuditFormat>::value).value);

    std::atomic<std::uint64_t> key_;  ///< 0: unused
    std::atomic<std::int64_t> calls_;
    std::atomic<std::uint32_t> early_;
    FormatErrors errors_[format_count];
};

/// Returns the group with this key (not 0); makes it if needed. Returns nullptr if there is no room for more groups.
/// Thread-safe, lock-free.
CallGroup* find_or_add_group(std::uint64_t key);

/// Returns the key of the group that a call belongs to.
std::uint64_t group_key(const Site& site, const Settings& in_force, const policy::MatmulCall& call);

/// A decision after the results of its group's audits were applied.
struct JudgedDecision {
    policy::Decision decision;
    CallGroup* group = nullptr;  ///< nullptr: audits are off, or there is no room for the group
    /// The format that an audit of this call has to test because the group has too few audits. Absent: the policy
    /// decides.
    std::optional<policy::AuditFormat> tested{};
    bool is_early = false;  ///< choose_for_audit() chose this call as one of the first of its group
};

/// Judges a decision by the audits of its group, and makes it stricter if `action = "pin"` of the policy forbids it,
/// or a rule's tolerance does not allow it (yet). find_or_add_group() tells what a `group_key` is. If there is no
/// room for the group, a tolerance allows nothing below the products' own type. `is_double`: that type is float64.
JudgedDecision judge_decision(const policy::Decision& decision, std::uint64_t group_key, const policy::Policy& policy,
                              bool is_double);

/// Returns true if a reference has more digits than the products' own type, so that no library computes it.
/// `is_double`: that type is float64.
constexpr bool exceeds_product_type(policy::AuditFormat reference, bool is_double) {
    return reference == (is_double ? policy::AuditFormat::double_double : policy::AuditFormat::fp64);
}

/// Sets the formats that an audit compares. `tested` is the format to test against the products' own type; absent:
/// the policy decides. `ran` is the format in which the product runs. `is_double`: the type is float64.
void set_audit_formats(record::Audit& audit, const policy::Policy& policy, std::optional<policy::AuditFormat> tested,
                       policy::AuditFormat ran, bool is_double);

/// Returns true if this call is to be audited: it is one of the first of its group, or the policy's fraction and
/// seed select it. A group that a tolerance has not judged yet audits more of its first calls. The same sequence of
/// calls of a thread always gives the same choice. Notes in `verdict` whether the call is one of the first.
bool choose_for_audit(JudgedDecision& verdict, const policy::Policy& policy);

/// Adds an audit to its group, and sets the audit's flags for an early call and for an error beyond the tolerance. If
/// FP32's own result is only noise, the error is not judged, unless the metric is `component`.
void store_audit_outcome(const JudgedDecision& verdict, const policy::Policy& policy, record::Audit& audit);

}  // namespace fp32shim::audit
