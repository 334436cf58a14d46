// Writes the result of `sensitivity` in three forms: the table for people, the JSON, and the policy file.
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
    std::string metric, source;  ///< how the numbers of the output are compared, and where the numbers come from
    double tolerance = -1;       ///< largest acceptable error; -1 if none was given
    std::string
        measured_policy{};  ///< file of the policy if only a given policy was measured; empty if places were measured
    std::optional<CheapestPolicy> policy{};
    FoundPolicy found{};        ///< the policy file that was written
    PolicySettings settings{};  ///< settings of the policy that is to be written
    std::vector<std::string>
        untried{};             ///< places with a group that had fewer calls in each later exact run than in the first
    std::string dependence{};  ///< sentence on whether the output depends on products; empty if the runs have shown
                               ///< that it does
    std::vector<std::string> left_files{};  ///< files of the working folder that changed during the runs
};

/// Returns true if at least one call of the group ran below FP32 in the run.
bool was_lowered_in(const MeasuredRun& run, const ProductGroup& group);

/// Returns a sentence with a line feed about places that were not tried, or an empty text if there are none.
std::string untried_sentence(const std::vector<std::string>& untried);

/// Returns the result as a table for people.
std::string result_text(const SensitivityResult& result);
/// Returns the result as the JSON that docs/schema.md describes.
Json to_json(const SensitivityResult& result);
/// Returns the comment on the whole policy, which stands at the beginning of the policy file.
std::string policy_comment(const SensitivityResult& result);
/// Returns the text of the policy file, with comments on the rules.
std::string policy_text_of(const SensitivityResult& result);

}  // namespace fp32shim::cli
