// Explains for `fp32shim explain` why a rule applies to a call or does not. The functions depend only on their
// arguments.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "policy/matmul_call.hpp"
#include "policy/policy.hpp"

namespace fp32shim::policy {

/// The text that is shown for a fact about the call or process that the user did not give.
inline constexpr std::string_view unknown_value = "unknown";

/// The verdict on one key of a `when` or `unless` table.
struct ConditionVerdict {
    std::string_view key;  ///< the key's name in a policy file: `max_dim`
    std::string asked;     ///< the values that the rule asks for: `<=128`, `"libtorch_*" or "libfoo.so"`
    std::string found;     ///< the call's value: `4096`; `none` if the call has no such value; or unknown_value
    bool holds = false;
};

/// The verdict on a rule, and on each key of its `when` and `unless` tables.
struct RuleVerdict {
    bool applies = false;  ///< true if all keys of `when` hold, and `unless` is empty or has a key that does not hold
    std::vector<ConditionVerdict> when, unless;
};

/// Judges a rule for a call. Judges every condition, even after one has failed. Thread-safe; allocates.
RuleVerdict explain_rule(const Rule& rule, const MatmulCall& call, const ProcessDescription& process);

}  // namespace fp32shim::policy
