// Finds rules that are never reached because an earlier rule applies to all of their calls.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "policy/policy.hpp"

namespace fp32shim::policy {

/// A rule that is never reached.
struct ShadowedRule {
    std::size_t rule;  ///< index of the rule that is never reached
    std::size_t by;    ///< index of the first rule that applies to all calls of `rule`
};

/// Returns the rules that one earlier rule certainly shadows. May miss a rule that only several earlier rules shadow
/// together, and a rule whose globs are too complicated to compare.
std::vector<ShadowedRule> find_shadowed_rules(const std::vector<Rule>& rules);

/// Returns true if the glob `broad` certainly matches every text that the glob `narrow` matches. Tests use it, too.
bool glob_covers(std::string_view broad, std::string_view narrow);

}  // namespace fp32shim::policy
