// Result of a search: the policy file, the table for people, and the JSON.
#pragma once

#include <string>
#include <vector>

#include "cli/bisect/search.hpp"
#include "cli/output/json_fwd.hpp"
#include "cli/trials/question.hpp"

namespace fp32shim::cli {

/// All facts that the output of a result needs.
struct SearchResult {
    const GroupList& groups;
    const SourceLineTexts lines;
    const Answers& answers;
    const SearchSettings& settings;
    const QuestionOptions& options;
    Findings findings;
    FoundPolicy policy;
    std::vector<std::string> left_files;  ///< files of the working folder that changed during the search
    std::string caveats;                  ///< CommandSets::caveats()
    bool leaves_out_clock = false;        ///< moments of the runs' own clock were not compared
};

/// Returns the text of a policy that lowers everything except the culprits, with comments.
std::string policy_of(const SearchResult& result);
/// Returns a comment on the whole policy.
std::string policy_evidence(const SearchResult& result);

std::string text_of(const SearchResult& result);
Json to_json(const SearchResult& result);

}  // namespace fp32shim::cli
