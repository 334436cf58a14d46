// Writes the result of `sensitivity`: the table for people, the JSON, and the policy file.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/output/json_fwd.hpp"
#include "cli/product_groups/policy_text.hpp"
#include "cli/sensitivity/cheapest_policy.hpp"
#include "cli/trials/search_command.hpp"

namespace fp32shim::cli {

struct SensitivityResult {
    const GroupList& groups;
    const SourceLineTexts& texts;
    const SensitivityRunner& runner;
    const SensitivityMeasurements& measured;
    const SearchOptions& options;
    std::string metric, source;     ///< how the output's numbers are compared, and where they come from
    double tolerance = -1;          ///< -1: none was given
    std::string measured_policy{};  ///< file of the only policy that was measured; empty: places were
    std::optional<CheapestPolicy> policy{};
    FoundPolicy found{};        ///< file of the policy
    PolicySettings settings{};  ///< settings of the policy that is written
    std::vector<std::string>
        untried{};  ///< places that have a group with fewer calls in all later exact runs than in the first
    std::string dependence{};               ///< sentence on whether the output depends on products; empty: it does
    std::vector<std::string> left_files{};  ///< files of the working folder that changed during the runs
};

/// Returns true if some call of the group ran below FP32 in the run.
bool was_lowered_in(const MeasuredRun& run, const ProductGroup& group);

/// Returns a sentence about untried places, with a line feed; empty if there are none.
std::string untried_sentence(const std::vector<std::string>& untried);

/// Returns a table for people.
std::string result_text(const SensitivityResult& result);
/// Returns JSON (docs/schema.md).
Json to_json(const SensitivityResult& result);
/// Returns a comment on the policy as a whole.
std::string policy_comment(const SensitivityResult& result);
/// Returns the text of the policy file, with comments on its rules.
std::string policy_text_of(const SensitivityResult& result);

}  // namespace fp32shim::cli
