// Policies that run some groups of products below FP32.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/product_groups/groups.hpp"

namespace fp32shim::cli {

class LineTexts;

/// Settings of a policy besides its rules, in the words of a policy.
struct PolicySettings {
    std::string precision;  ///< precision of lowered groups
    std::string cpu;        ///< `[cpu] mode`; empty: left to the environment
    std::string name;       ///< name of the policy, with which those of its rules begin
};

/// Returns the policy under which only these groups run at the lower precision, of the group in `calls` those calls
/// only. Everything else is exact, groups that are not known yet included, whatever the program itself asks for.
std::string policy_lowering_only(const Groups& groups, const Subset& lowered, const PolicySettings& settings,
                                 const CallRange& calls = {});

/// Returns lines of comment for a rule about some groups, without `#`.
using CommentOn = std::function<std::vector<std::string>(const Subset& groups)>;

/// Returns the policy under which all but these groups run at the lower precision, where the program itself asks for
/// nothing else. `comment_on` may be null. The rules are to survive an edit of the program: where it is enough they
/// name a function, else a line's text (`texts`; nullptr: not known), else sizes, and a line or an offset at last.
std::string policy_lowering_all_but(const Groups& groups, const Subset& exact, const PolicySettings& settings,
                                    const CommentOn& comment_on, const LineTexts* texts);

/// Returns a glob that matches `text` only; bytes that a policy cannot have match any byte.
std::string glob_for(std::string_view text);

}  // namespace fp32shim::cli
