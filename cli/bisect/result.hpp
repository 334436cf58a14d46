// Writes the result of `bisect` in three forms: the policy file, the table for people, and the JSON.
#pragma once

#include <string>
#include <vector>

#include "cli/bisect/search.hpp"
#include "cli/output/json_fwd.hpp"
#include "cli/trials/search_command.hpp"

namespace fp32shim::cli {

/// Holds all facts that are needed to write the result of a search.
struct BisectResult {
    const GroupList& groups;
    const SourceLineTexts lines;
    const SetTester& tester;
    const BisectSettings& settings;
    const SearchOptions& options;
    SearchConclusion findings;
    FoundPolicy policy;
    std::vector<std::string> left_files;  ///< files of the working folder that changed during the search
    std::string caveats;                  ///< the text that LoweredSetRunner::caveats() returned
    bool leaves_out_clock = false;        ///< dates and times of the runs, which the outputs show, were not compared
};

/// Returns the text of a policy that lowers all products except those of the culprits. Comments in the policy say why
/// the products of each culprit stay exact.
std::string policy_text_of(const BisectResult& result);
/// Returns the comment on the whole policy, which stands at the beginning of the policy file.
std::string policy_comment(const BisectResult& result);

std::string result_text(const BisectResult& result);
Json to_json(const BisectResult& result);

}  // namespace fp32shim::cli
