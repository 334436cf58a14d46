// Runs of the command under policies, with their verdicts, as the search asks for them.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "cli/bisect/answers.hpp"
#include "cli/bisect/trials.hpp"
#include "cli/product_groups/groups.hpp"
#include "cli/trials/numbers.hpp"
#include "cli/trials/runs.hpp"

namespace fp32shim::cli {

/// Writes the policies, judges the runs by their ends and their numbers, and tells the user of each outcome.
class CommandTrials : public Trials {
  public:
    /// `runs_before`: number of runs of earlier parts of the search.
    CommandTrials(const SearchSettings& settings, Runs& runs, Groups& groups, std::uint64_t runs_before)
        : settings_(settings), runs_(runs), groups_(groups), run_count_(runs_before), runs_before_(runs_before) {}

    std::vector<TrialRun> run(const std::vector<const TestedSet*>& sets, bool takes_new_groups) override;
    void note(const TestedSet& tested) override;
    /// Runs the command with everything exact for the numbers to compare with, which the state of an earlier part of
    /// the search does not have. Returns the reason why there are none; empty: there are.
    std::string make_reference();
    /// Runs the command with only these groups lowered, to coarsest_precision. The state does not count this run.
    /// Returns nullopt if no product ran so.
    std::optional<TrialRun> run_coarsest(const Subset& groups);
    /// Estimates the number of all runs, for two culprits among the lines that were lowered. To be called again after
    /// an interruption.
    void plan_runs(const Outcome& everything_lowered);
    /// Returns the run that ended last.
    const FinishedRun& last_run() const { return last_run_; }
    /// Returns true if moments of the runs' own clock were not compared.
    bool leaves_out_clock() const { return leaves_out_clock_; }
    /// Returns sentences about what the judgements of the runs leave out or take for granted.
    std::string caveats() const;

  private:
    RunRequest request_for(const TestedSet& tested) const;
    void judge_numbers(bool were_written, bool is_exact, const RunTime& time, TrialRun& trial);
    std::string problem_with_numbers(bool is_exact, const RunTime& time);
    std::string problem_with_words(const Numbers& found);
    void learn_changing_words(const Numbers& exact);
    TrialRun trial_of(FinishedRun run, const TestedSet& tested, bool were_written, bool takes_new_groups);
    void add_met_groups(const FinishedRun& run, const TestedSet& tested, bool takes_new_groups, TrialRun& trial);
    void note_time(const RunTime& time, const TestedSet& tested, const TrialRun& trial);
    void refuse_endless_groups();
    std::uint64_t planned_runs();
    std::string time_text();
    std::string set_text(const TestedSet& tested) const;

    const SearchSettings& settings_;
    Runs& runs_;
    Groups& groups_;
    Numbers reference_;  ///< numbers of the first exact run
    std::int64_t reference_end_ns_ = 0;
    std::set<std::size_t> has_changing_words_;  ///< rows before which the words differ between exact runs
    bool leaves_out_clock_ = false;             ///< the compared file has moments of the run's own clock
    bool has_second_reference_ = false;         ///< another exact run has told which words change
    FinishedRun last_run_;
    std::uint64_t run_count_, runs_before_;
    std::size_t first_groups_ = 0;    ///< number of groups after the first run
    double longest_exact_ = 0;        ///< seconds
    double slowest_failure_ = 0;      ///< relative to longest_exact_; of those that failed by their end
    std::uint64_t planned_runs_ = 0;  ///< total that is shown; 0: not known yet
    std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
};

}  // namespace fp32shim::cli
