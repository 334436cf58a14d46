// Result of a search: the policy file, the table for people, and the JSON.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/bisect/search.hpp"
#include "cli/output/json_fwd.hpp"

namespace fp32shim::cli {

/// All facts that the output of a result needs.
struct SearchResult {
    const Groups& groups;
    const SearchState& state;
    const SearchSettings& settings;
    std::vector<std::string> command;
    Findings findings;
    std::optional<FailureRates> rates;    ///< that were told apart; nullopt: one run of a set decided
    std::string policy_path;              ///< file of the policy; empty: none was written
    std::vector<std::string> left_files;  ///< files of the working folder that changed during the search
    std::string caveats;                  ///< CommandTrials::caveats()
    bool leaves_out_clock = false;        ///< CommandTrials::leaves_out_clock()
};

/// Returns the text of a policy that lowers everything except the culprits, with comments.
std::string policy_of(const SearchResult& result);

std::string text_of(const SearchResult& result);
Json to_json(const SearchResult& result);

}  // namespace fp32shim::cli
