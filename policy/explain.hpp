// Explains why a rule applies to a call or not, for `fp32shim explain`. Pure, like decide.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "policy/matmul_call.hpp"
#include "policy/policy.hpp"

namespace fp32shim::policy {

/// Value of a fact about the call or process that was not given.
inline constexpr std::string_view unknown_value = "unknown";

/// Verdict on one key of a `when` or `unless` table.
struct ConditionVerdict {
    std::string_view key;  ///< name in the file: `max_dim`
    std::string asked;     ///< values that the rule asks for: `<=128`, `"libtorch_*" or "libfoo.so"`
    std::string found;     ///< value of the call: `4096`; `none` without scopes or GPU; or unknown_value
    bool holds = false;
};

/// Verdict on a rule. Keys that a table lacks are left out.
struct RuleVerdict {
    bool applies = false;  ///< matches(): all of `when` hold, and not all of a non-empty `unless`
    std::vector<ConditionVerdict> when, unless;
};

/// Judges every condition, even after one has failed. Thread-safe; allocates.
RuleVerdict explain_rule(const Rule& rule, const MatmulCall& call, const Process& process);

}  // namespace fp32shim::policy
