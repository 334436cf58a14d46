// Runs of the command with sets of groups lowered, and their verdicts.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/bisect/answers.hpp"
#include "cli/bisect/outcomes.hpp"
#include "cli/product_groups/groups.hpp"
#include "cli/trials/trials.hpp"

namespace fp32shim::cli {

/// Writes the policies of sets, judges the runs, and tells the user of each outcome.
class CommandSets : public SetRunner {
  public:
    CommandSets(const SearchSettings& settings, Trials& trials, Groups& groups)
        : settings_(settings), trials_(trials), groups_(groups) {}

    std::vector<SetRun> run(const std::vector<const TestedSet*>& sets, bool takes_new_groups) override;
    void report_outcome(const TestedSet& tested) override;
    /// Runs the command with only these groups lowered, to coarsest_precision. Returns nullopt if no product ran at
    /// that precision.
    std::optional<SetRun> run_coarsest(const Subset& groups);
    /// Returns sentences about what the judgements of the runs leave out or take for granted.
    std::string caveats() const;

  private:
    RunRequest request_for(const TestedSet& tested, const PolicySettings& policy) const;
    SetRun judge_trial(const Trial& trial, const TestedSet& tested, bool takes_new_groups);
    void add_met_groups(const RecordedProducts& products, const TestedSet& tested, bool takes_new_groups,
                        SetRun& run);
    void note_time(const Trial& trial, const TestedSet& tested, const SetRun& run);
    void refuse_endless_groups();
    void estimate_runs(const Outcome& everything_lowered);
    std::string text_of_set(const TestedSet& tested) const;

    const SearchSettings& settings_;
    Trials& trials_;
    Groups& groups_;
    std::uint64_t run_count_ = 0;
    std::size_t first_groups_ = 0;  ///< number of groups after the first run
    double longest_exact_ = 0;      ///< seconds
    double slowest_failure_ = 0;    ///< longest time of a run that failed by its end, relative to longest_exact_
};

}  // namespace fp32shim::cli
