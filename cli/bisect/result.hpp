// Writes the result of `bisect`: the policy file, the table for people, and the JSON.
#pragma once

#include <string>
#include <vector>

#include "cli/bisect/search.hpp"
#include "cli/output/json_fwd.hpp"
#include "cli/trials/search_command.hpp"

namespace fp32shim::cli {

/// All facts that the output of a result needs.
struct BisectResult {
    const GroupList& groups;
    const SourceLineTexts lines;
    const SetTester& tester;
    const BisectSettings& settings;
    const SearchOptions& options;
    SearchConclusion findings;
    FoundPolicy policy;
    std::vector<std::string> left_files;  ///< files of the working folder that changed during the search
    std::string caveats;                  ///< CommandSetRunner::caveats()
    bool leaves_out_clock = false;        ///< moments of the runs' own clock were not compared
};

/// Returns the text of a policy that lowers everything except the culprits, with comments.
std::string policy_text_of(const BisectResult& result);
/// Returns a comment on the whole policy.
std::string policy_comment(const BisectResult& result);

std::string result_text(const BisectResult& result);
Json to_json(const BisectResult& result);

}  // namespace fp32shim::cli
