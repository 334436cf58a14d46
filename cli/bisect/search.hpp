// Searches for the groups that must stay exact, by testing sets of groups.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cli/bisect/delta_debugging.hpp"
#include "cli/bisect/numbers.hpp"
#include "cli/bisect/runs.hpp"
#include "cli/bisect/state.hpp"
#include "cli/product_groups/groups.hpp"
#include "cli/product_groups/policy_text.hpp"

namespace fp32shim::cli {

struct SearchSettings {
    PolicySettings policy;
    std::uint64_t jobs = 1, repeat = 1;
    std::uint64_t max_runs = 0;  ///< 0: no limit
    std::string compared_file;   ///< file of numbers that the command writes; empty: only the exit status decides
    double relative = 0, absolute = 0;
    bool narrows_calls = false;  ///< also finds the calls of a group that make the command fail
};

/// Thrown when the allowed number of runs is used up.
struct OutOfRuns {};
/// Thrown when the search cannot continue.
struct SearchFailed {
    std::string why;
};

/// Groups that must stay exact together, for the same reason.
struct Culprit {
    Subset groups;
    std::vector<Subset> partners;  ///< sets that must also be lowered to make the command fail
    bool tells_nothing = false;  ///< lowering the groups makes the outcome unresolved (exit status 125) instead of a
                                 ///< failure
    CallRange calls{};           ///< calls of the only group that suffice to make the command fail
};

class Search {
  public:
    Search(const SearchSettings& settings, Runs& runs, Groups& groups, SearchState& state)
        : settings_(settings), runs_(runs), groups_(groups), state_(state), run_count_(state.runs()) {}

    /// Returns the outcome with everything exact. This run yields the groups and, with compared_file, the reference.
    Outcome test_exact();
    /// Returns the outcome of a set. Runs the command only if the outcome is unknown. Throws Interrupted, OutOfRuns
    /// and SearchFailed.
    Outcome test(Lowered lowered, const Subset& set);
    /// Finds culprits: if their groups run at FP32, all other groups may be lowered. Precondition: the command fails
    /// if all groups are lowered.
    std::vector<Culprit> find_culprits();

    std::uint64_t runs_done() const { return run_count_; }
    /// Returns the most recent run.
    const FinishedRun& last_run() const { return last_run_; }

  private:
    std::optional<std::size_t> first_failing(const std::vector<Parts>& candidates, const Subset& fixed);
    Parts minimal(const Parts& parts, const Subset& fixed);
    void run_sets(Lowered lowered, const std::vector<Subset>& sets);
    void run_tests(std::vector<TestedSet> tests);
    bool calls_fail(const Subset& set, const CallRange& calls);
    void run_once(const std::vector<TestedSet*>& sets);
    RunRequest request_for(const TestedSet& tested) const;
    static void judge(const FinishedRun& run, Outcome& outcome);
    void judge_numbers(bool were_written, Outcome& outcome);
    std::string problem_with_numbers();
    void add_met_groups(const FinishedRun& run, TestedSet& tested);
    void print_outcome(const TestedSet& tested) const;
    std::uint64_t estimated_runs_left() const;

    Subset whole_lines(const Subset& set) const;
    bool is_failure(Verdict verdict) const {
        return verdict == (seeks_unresolved_ ? Verdict::unresolved : Verdict::not_acceptable);
    }
    Culprit culprit_in(const Subset& suspects);
    void drop_superfluous_culprits(std::vector<Culprit>& culprits);
    void narrow_down_sizes(std::vector<Culprit>& culprits);
    void narrow_down_calls(Culprit& culprit);

    const SearchSettings& settings_;
    Runs& runs_;
    Groups& groups_;
    SearchState& state_;
    std::vector<double> reference_;
    FinishedRun last_run_;
    std::uint64_t run_count_;
    std::size_t suspects_ = 0;  ///< number of groups in the set that is being reduced
    Subset ever_lowered_;       ///< groups that ran at the lower precision in any run
    bool takes_new_groups_ = true;
    bool seeks_unresolved_ =
        false;  ///< the search looks for unresolved outcomes (exit status 125) instead of failures
};

/// Returns `call 37`, or `calls 12 to 37`.
std::string calls_text(const CallRange& calls);

/// Returns the groups of all culprits.
Subset exact_groups(const std::vector<Culprit>& culprits);

}  // namespace fp32shim::cli
