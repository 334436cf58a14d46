// The result of a search: the policy's file, the table for people, the JSON.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/bisect/search.hpp"
#include "cli/output/json_fwd.hpp"

namespace fp32shim::cli {

/// Everything that a result is told from.
struct SearchResult {
    const Groups& groups;
    const SearchState& state;
    const SearchSettings& settings;
    std::vector<std::string> command;
    Findings findings;
    std::optional<FailureRates> rates;  ///< that were told apart; nullopt: one run of a set decided
    std::string policy_path;            ///< file of the policy; empty: none was written
};

/// Returns the text of the policy under which all but the culprits are lowered, with comments.
std::string policy_of(const SearchResult& result);

std::string text_of(const SearchResult& result);
Json to_json(const SearchResult& result);

}  // namespace fp32shim::cli
