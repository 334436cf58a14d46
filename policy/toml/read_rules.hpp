// Reads the [[rule]] tables of a policy file.
#pragma once

#include <vector>

#include "policy/policy.hpp"
#include "policy/toml/document.hpp"

namespace fp32shim::policy {

/// Appends the rules of the `rule` entry. A rule with an error is reported and still appended, so that the numbers of
/// the others stay right. The caller must not apply the rules of a file with errors.
void read_rules(const Entry& entry, std::vector<Rule>& rules, Report& report);

}  // namespace fp32shim::policy
