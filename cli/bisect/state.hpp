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
    std::string how;                              ///< end of a sentence: `ended with status 1`
    bool is_flaky = false;                        ///< equal runs had different outcomes
    std::uint64_t last_run = 0;                   ///< number of the last run, from 1
    std::uint64_t runs = 0;                       ///< number of runs
    std::uint64_t failures = 0;                   ///< number of runs that were not acceptable
    std::uint64_t undecided = 0;                  ///< number of runs that told nothing
    bool is_confirmed = false;                    ///< further runs, judged by themselves, gave the same verdict
    Subset lowered;                               ///< Lowered::all_but: groups that ran at the lower precision
    std::map<std::string, Subset> other_formats;  ///< those of `lowered` that also ran at others, by their words
    std::string output;  ///< checksum of the output, equal in all runs; empty: it differed, or is not known
    Subset ran;          ///< with everything exact, and of Lowered::all_but: groups that ran in acceptable runs
    Subset as_often;  ///< those of `ran` that ran as often as in the first run, or oftener, in a run after the first
    Subset less_often;  ///< with everything exact: those that ran less often, or not at all, in a run after the first
    bool was_on_cpu = false;       ///< all products of the first of these runs ran on a CPU
    std::uint64_t new_groups = 0;  ///< number of groups that no earlier run had met

    std::uint64_t passed() const { return runs - failures - undecided; }
};

/// A set of groups, and the outcome of its runs.
struct TestedSet {
    Lowered lowered = Lowered::only;
    Subset set;
    Outcome outcome;
    CallRange calls{};  ///< if given, only these calls of their group are lowered
};

/// JSON lines: one of the search, then one for each file, group and outcome, in the order in which they were found. A
/// later outcome of a set replaces an earlier one.
class SearchState {
  public:
    /// Reads the file if it exists. `search` has the command and all options on which its outcomes depend. An empty
    /// path means no file.
    SearchState(std::string path, const Json& search, Groups& groups);

    /// Returns the reason why the file cannot be used; empty if it can.
    const std::string& problem() const { return problem_; }
    /// Returns the outcomes in the order in which they were found.
    const std::vector<TestedSet>& tested() const { return tested_; }
    /// Returns the outcome of a set; nullptr: it has not run.
    const Outcome* find(Lowered lowered, const Subset& set, const CallRange& calls = {}) const;
    /// Stores an outcome, and the groups found since the last one. Returns false if the file cannot be written.
    bool add(const TestedSet& tested);
    /// Keeps the SHA-256 of a file that the answers depend on. Returns false if it cannot be written.
    bool add_file(const std::string& path, const std::string& sha256);
    /// SHA-256 of files, by path.
    const std::map<std::string, std::string>& files() const { return files_; }
    /// Returns the number of runs that all outcomes took.
    std::uint64_t runs() const { return runs_; }
    const std::string& path() const { return path_; }
    const Groups& groups() const { return groups_; }
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
    std::map<std::string, std::string> files_;
    std::uint64_t runs_ = 0;
    std::map<std::tuple<Lowered, Subset, CallRange>, std::size_t> indices_;  ///< indices in tested_
};

}  // namespace fp32shim::cli
