// Why a rule applies to a call or does not: what `fp32shim explain` shows. Pure, like decide.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "policy/matmul_call.hpp"
#include "policy/policy.hpp"

namespace fp32shim::policy {

/// What a condition finds where the call, or the process, was not described so far.
inline constexpr std::string_view unknown_value = "unknown";

/// One key of a `when` or `unless` table, judged.
struct ConditionVerdict {
    std::string_view key;  ///< as in the file: `max_dim`
    std::string asked;     ///< what the rule asks for, as it could be written: `<=128`, `"libtorch_*" or "libfoo.so"`
    std::string found;     ///< what the call has: `4096`; `none` of scopes, and of GPUs on the CPU; or unknown_value
    bool holds = false;
};

/// A rule, judged. Keys that a table does not have are left out.
struct RuleVerdict {
    bool applies = false;  ///< as matches() says: all of `when` hold, and not all of a non-empty `unless`
    std::vector<ConditionVerdict> when, unless;
};

/// Judges every condition, also those behind the first that fails. Thread-safe; allocates.
RuleVerdict explain_rule(const Rule& rule, const MatmulCall& call, const Process& process);

/// Says what can be done about a reason; empty where nothing can.
std::string_view remedy_of(Reason reason);

}  // namespace fp32shim::policy
