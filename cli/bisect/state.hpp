// Answers of a search, kept in a file so that an interrupted search can go on.
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

/// Groups that a test lowers: only those of a set, or all but those of a set.
enum class Lowered : std::uint8_t { only, all_but };
std::string_view to_string(Lowered lowered);

enum class Verdict : std::uint8_t { acceptable, not_acceptable, unresolved };
std::string_view to_string(Verdict verdict);

struct Outcome {
    Verdict verdict = Verdict::unresolved;
    std::string how;               ///< `ended with status 1`
    bool is_flaky = false;         ///< equal runs had different outcomes
    std::uint64_t last_run = 0;    ///< number of the run that decided, from 1
    Subset lowered;                ///< Lowered::all_but: groups that ran at the lower precision
    std::uint64_t new_groups = 0;  ///< number of groups that no earlier run had met
};

/// A set of groups whose outcome is known.
struct TestedSet {
    Lowered lowered = Lowered::only;
    Subset set;
    Outcome outcome;
    CallRange calls{};  ///< of the set's group in it, only these calls are lowered
};

/// JSON lines: one of the search, then one for each group and each outcome, in the order in which they were found.
class SearchState {
  public:
    /// Reads the file, if it is there. `search`: the command and all options that its answers depend on.
    SearchState(std::string path, const Json& search, Groups& groups);

    /// Returns the reason why the file cannot be used; empty: none.
    const std::string& problem() const { return problem_; }
    /// Outcomes in the order in which they were found.
    const std::vector<TestedSet>& tested() const { return tested_; }
    /// Returns the known outcome of a set; nullptr: it is not known.
    const Outcome* find(Lowered lowered, const Subset& set, const CallRange& calls = {}) const;
    /// Keeps an outcome, with the groups that are new since the last one. Returns false if it cannot be written.
    bool add(const TestedSet& tested);
    /// Returns the number of runs that all outcomes took.
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
    std::map<std::tuple<Lowered, Subset, CallRange>, std::size_t> indices_;  ///< in tested_
};

}  // namespace fp32shim::cli
