// Groups of calls that are audited or counted together, and what their audits have shown so far.
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

/// Number of audits that a group needs before it is judged. That many of its first calls are audited whatever the
/// fraction is.
inline constexpr std::uint32_t first_audits = 4;

/// Calls of one site, with the same sizes, scope and path, under one reading of the settings. Shared by all threads,
/// never freed. A call that is neither audited nor counted only reads it.
class Group {
  public:
    /// Counts a call, for rules that ask for its number; returns that number, from 1.
    std::int64_t next_call_number() { return 1 + calls_.fetch_add(1, std::memory_order_relaxed); }
    /// Counts an audit among the first calls of the group; returns false if there were `most` already.
    bool claim_early_audit(std::uint32_t most);

    /// Notes an audit's error by the metric that the group is judged by.
    void add_error(policy::AuditFormat tested, double error);
    /// Returns the number of audits of a format.
    std::uint32_t audits_of(policy::AuditFormat tested) const;
    /// Returns the largest error of a format in any audit; 0: there were none.
    double worst_of(policy::AuditFormat tested) const;

  private:
    friend Group* find_group(std::uint64_t key);
    struct Errors {
        std::atomic<std::uint32_t> audits;
        std::atomic<double> worst;
    };
    static constexpr std::size_t format_count =
        1 + static_cast<std::size_t>(
                std::ranges::max(policy::audit_format_words, {}, &policy::Word<policy::AuditFormat>::value).value);

    std::atomic<std::uint64_t> key_;  ///< 0: unused
    std::atomic<std::int64_t> calls_;
    std::atomic<std::uint32_t> early_;
    Errors errors_[format_count];
};

/// Returns the group with this key (not 0), perhaps a new one; nullptr: there is no room for more. Thread-safe,
/// lock-free.
Group* find_group(std::uint64_t key);

/// Returns the key of the group that a call belongs to.
std::uint64_t group_key(const Site& site, const Settings& in_force, const policy::MatmulCall& call);

/// A decision, after the audits of its group of calls were considered.
struct Verdict {
    policy::Decision decision;
    Group* group = nullptr;  ///< nullptr: audits are off, or there is no room for the group
    /// The format that an audit of this call has to test, since the group is not judged yet. Absent: the policy says.
    std::optional<policy::AuditFormat> tested{};
};

/// Judges a decision by the group's audits: one that the policy's `action = "pin"` forbids, or a rule's tolerance
/// does not allow (yet), becomes a stricter one. `group_key`: see find_group(). Without room for a group, a tolerance
/// allows nothing below FP32.
Verdict judge(const policy::Decision& decision, std::uint64_t group_key, const policy::Policy& policy);

/// Sets the formats that an audit compares. `tested`: the format to test against FP32; absent: as the policy says.
/// `ran`: the format that the product runs in.
void set_formats(record::Audit& audit, const policy::Policy& policy, std::optional<policy::AuditFormat> tested,
                 policy::AuditFormat ran);

/// Returns true if this call is to be audited: it is one of the first of its group (more of them count where a
/// tolerance has not judged the group yet), or the policy's fraction and seed choose it. The same sequence of calls
/// of a thread gives the same choice.
bool is_due(const Verdict& verdict, const policy::Policy& policy);

/// Notes an audit in its group, and sets its flag if it goes beyond the tolerance.
void store_outcome(const Verdict& verdict, const policy::Policy& policy, record::Audit& audit);

}  // namespace fp32shim::audit
