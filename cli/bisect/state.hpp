// Keeps the outcomes of a search in a file, so that an interrupted search can continue.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "cli/output/json_fwd.hpp"
#include "cli/product_groups/groups.hpp"

namespace fp32shim::cli {

/// Groups that a test lowers: only those of a set, or all except those of a set.
enum class Lowered : std::uint8_t { only, all_but };
std::string_view to_string(Lowered lowered);

enum class Verdict : std::uint8_t { acceptable, not_acceptable, unresolved };
std::string_view to_string(Verdict verdict);

struct Outcome {
    Verdict verdict = Verdict::unresolved;
    std::string how;               ///< end of a sentence: `ended with status 1`
    bool is_flaky = false;         ///< equal runs had different outcomes
    std::uint64_t last_run = 0;    ///< number, from 1, of the run that determined the outcome
    Subset lowered;                ///< groups that ran at the lower precision; only for Lowered::all_but
    std::uint64_t new_groups = 0;  ///< number of groups that no earlier run had recorded
};

/// A tested set of groups with its outcome.
struct TestedSet {
    Lowered lowered = Lowered::only;
    Subset set;
    Outcome outcome;
    CallRange calls{};  ///< if given, only these calls of their group are lowered
};

/// State of a search as JSON lines. The first line describes the search; then each group and each outcome has a line,
/// in the order in which they were found.
class SearchState {
  public:
    /// Reads the file if it exists. `search` has the command and all options on which its outcomes depend.
    SearchState(std::string path, const Json& search, Groups& groups);

    /// Returns the reason why the file cannot be used; empty if it can.
    const std::string& problem() const { return problem_; }
    /// Returns the outcomes in the order in which they were found.
    const std::vector<TestedSet>& tested() const { return tested_; }
    /// Returns the outcome of a set; null if it is unknown.
    const Outcome* find(Lowered lowered, const Subset& set, const CallRange& calls = {}) const;
    /// Stores an outcome, and the groups found since the last one. Returns false if the file cannot be written.
    bool add(const TestedSet& tested);
    /// Returns the total number of runs that the outcomes took.
    std::uint64_t runs() const { return runs_; }
    const std::string& path() const { return path_; }
    void remove_file() const;

  private:
    std::string problem_with_first_line(const std::string& line) const;
    void read(const std::string& text);
    bool read_line(const Json& line);
    void add_tested(const TestedSet& tested);
    bool append(const std::string& lines) const;

    std::string path_, first_line_;
    Groups& groups_;
    std::size_t written_groups_ = 0;
    std::string problem_;
    std::vector<TestedSet> tested_;
    std::uint64_t runs_ = 0;
    std::map<std::tuple<Lowered, Subset, CallRange>, std::size_t> indices_;  ///< indices in tested_
};

}  // namespace fp32shim::cli
