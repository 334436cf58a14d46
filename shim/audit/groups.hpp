// Groups of calls that are audited, counted or shown in a log together, with the results of their audits.
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

/// The number of audits that a group needs before it is judged. The same number of the group's first calls are
/// audited, whatever fraction of the calls the policy selects.
inline constexpr std::uint32_t first_audits = 4;

/// Calls with the same key. For audits, these are the calls from one call site with the same sizes, scope and call
/// path, under the same settings (group_key()). All threads share a group, and it is never freed. A call that is
/// neither audited nor counted only reads its group.
class CallGroup {
  public:
    /// Counts a call of the group, for rules on the number of a call. Returns the call's number, from 1.
    std::int64_t next_call_number() { return 1 + calls_.fetch_add(1, std::memory_order_relaxed); }
    /// If fewer than `most` audits of the group's first calls have been counted, counts one more and returns true.
    /// Otherwise returns false.
    bool claim_early_audit(std::uint32_t most);

    /// Returns true if a log has already shown the group's decision. This is for groups that stand for one decision
    /// in a log (group_of() in record_call.cpp), in which no calls are counted.
    bool was_shown_in_log() const { return calls_.load(std::memory_order_relaxed) != 0; }
    /// Notes that a log now shows the group's decision. Returns false if a log had already shown the decision.
    bool mark_shown_in_log() { return next_call_number() == 1; }

    /// Adds an audit of the format `tested` with its error, in the metric by which the group is judged.
    void add_error(policy::AuditFormat tested, double error);
    /// Returns the number of audits of the format `tested`.
    std::uint32_t audit_count(policy::AuditFormat tested) const;
    /// Returns the largest error of the format `tested` in any audit; 0 if there were no audits.
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

    std::atomic<std::uint64_t> key_;  ///< key of the group; 0 if the object is unused
    std::atomic<std::int64_t> calls_;
    std::atomic<std::uint32_t> early_;
    FormatErrors errors_[format_count];
};

/// Returns the group with this key, which must not be 0, and makes the group if needed. Returns nullptr if there is
/// no room for more groups. Thread-safe and lock-free.
CallGroup* find_or_add_group(std::uint64_t key);

/// Returns the key of the group that a call belongs to.
std::uint64_t group_key(const Site& site, const Settings& in_force, const policy::MatmulCall& call);

/// A decision after the results of its group's audits were applied.
struct JudgedDecision {
    policy::Decision decision;
    CallGroup* group = nullptr;  ///< nullptr if audits are off, or if there is no room for the group
    /// The format that an audit of this call has to test because the group has too few audits of the format. If the
    /// value is absent, the policy chooses the format.
    std::optional<policy::AuditFormat> tested{};
    bool is_early = false;  ///< true if choose_for_audit() chose this call as one of the first of its group
};

/// Judges a decision by the audits of its group. Makes the decision stricter if the policy has `action = "pin"` and
/// an audit has found too large an error, or if a rule's tolerance does not allow the format (yet). `group_key`
/// identifies the group, as in find_or_add_group(). If there is no room for the group, a tolerance allows no format
/// with fewer digits than the products' own type. `is_double` is true if that type is float64.
JudgedDecision judge_decision(const policy::Decision& decision, std::uint64_t group_key, const policy::Policy& policy,
                              bool is_double);

/// Returns true if the format `reference` has more digits than the products' own type, so that no library computes
/// it. `is_double` is true if that type is float64.
constexpr bool exceeds_product_type(policy::AuditFormat reference, bool is_double) {
    return reference == (is_double ? policy::AuditFormat::double_double : policy::AuditFormat::fp64);
}

/// Sets the formats that an audit compares. `tested` is the format to test against the products' own type; if it is
/// absent, the policy chooses the format. `ran` is the format in which the product runs. `is_double` is true if the
/// products' own type is float64.
void set_audit_formats(record::Audit& audit, const policy::Policy& policy, std::optional<policy::AuditFormat> tested,
                       policy::AuditFormat ran, bool is_double);

/// Returns true if this call is to be audited, because it is one of the first of its group, or because the policy's
/// fraction and seed select it. A group whose format the tolerance still has to judge audits more of its first calls.
/// The same sequence of calls on a thread always gives the same choices. Stores in `verdict` whether the call is one
/// of the first.
bool choose_for_audit(JudgedDecision& verdict, const policy::Policy& policy);

/// Adds the error that an audit found to its group. Sets the flags in `audit` for an early call and for an error
/// beyond the tolerance. If the result of FP32 is itself only noise, the error does not count, unless the metric is
/// `component`.
void store_audit_outcome(const JudgedDecision& verdict, const policy::Policy& policy, record::Audit& audit);

}  // namespace fp32shim::audit
