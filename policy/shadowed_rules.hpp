// Which rules of a policy are never reached, since a broader one before them applies to all of their calls.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "policy/policy.hpp"

namespace fp32shim::policy {

struct ShadowedRule {
    std::size_t rule;  ///< index of the rule that is never reached
    std::size_t by;    ///< index of the first rule that takes all of its calls
};

/// The rules of which it is certain that one earlier rule applies to every call that they apply to. Others may be
/// shadowed too: by several rules together, or by globs that only a closer look would compare.
std::vector<ShadowedRule> shadowed_rules(const std::vector<Rule>& rules);

/// Whether it is certain that `broad` matches every text that `narrow` matches. Exposed for its test.
bool glob_covers(std::string_view broad, std::string_view narrow);

}  // namespace fp32shim::policy
