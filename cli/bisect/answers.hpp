// Answers of runs: how often a set of groups has to run until its outcome is known.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/bisect/sequential_test.hpp"
#include "cli/bisect/trials.hpp"
#include "cli/product_groups/policy_text.hpp"

namespace fp32shim::cli {

struct SearchSettings {
    PolicySettings policy;
    std::uint64_t jobs = 1;
    std::uint64_t repeat = 1;    ///< runs with everything exact; more than 1: any run may fail at random
    std::uint64_t max_runs = 0;  ///< 0: any number
    std::string compared_file;   ///< file of numbers that the command writes; empty: its exit status decides alone
    double relative = 0, absolute = 0;
    bool narrows_calls = false;  ///< also finds the calls of a group that make the command fail
};

/// All runs that were allowed are used up.
struct OutOfRuns {};
/// The search cannot go on.
struct SearchFailed {
    std::string why;
};

/// Finds outcomes of sets, and keeps them in the state. At first one run of a set decides. If equal runs have
/// differed, or the settings ask for it, runs may fail at random: their rate is estimated with everything exact, and
/// each set runs until a sequential test decides. All functions that run the command throw Interrupted, OutOfRuns and
/// SearchFailed.
class Answers {
  public:
    Answers(const SearchSettings& settings, Trials& trials, SearchState& state);

    /// Returns the outcome with everything exact. Its runs yield the groups, and the rate of random failures.
    Outcome with_everything_exact();
    /// Returns the outcome with everything lowered.
    Outcome with_everything_lowered();
    /// Returns the outcome of a set.
    const Outcome& of(Lowered lowered, const Subset& set, const CallRange& calls = {});
    /// Returns the outcome of a set if no further run is needed, else nullptr.
    const Outcome* known(Lowered lowered, const Subset& set, const CallRange& calls = {}) const;
    /// Finds the outcomes of several sets, with as many runs at once.
    void find(Lowered lowered, const std::vector<Subset>& sets, const CallRange& calls = {});
    /// Runs a set anew. Returns true if the new runs, judged by themselves, give the verdict that is known.
    bool confirm(Lowered lowered, const Subset& set, const CallRange& calls = {});

    bool expects_random_failures() const { return is_random_; }
    /// From now on runs may fail at random. Outcomes so far count as evidence only.
    void expect_random_failures();
    /// Asks for ten times as much evidence. Returns false if that has been done twice.
    bool be_stricter();
    /// Returns true if a set has run often enough without an answer.
    static bool has_no_answer(const Outcome& outcome);

    void take_new_groups(bool takes) { takes_new_groups_ = takes; }
    const SearchState& state() const { return state_; }
    /// Rates of failure that the tests tell apart, if runs may fail at random; nullopt: they are taken not to.
    std::optional<FailureRates> rates() const { return is_random_ ? std::optional(rates_) : std::nullopt; }

  private:
    std::optional<Verdict> decision(const Outcome& outcome, double error) const;
    TestedSet so_far(Lowered lowered, const Subset& set, const CallRange& calls) const;
    void run_once(std::vector<TestedSet*> sets);
    void keep(TestedSet& tested);

    const SearchSettings& settings_;
    Trials& trials_;
    SearchState& state_;
    std::uint64_t run_count_;
    FailureRates rates_{};
    double error_;  ///< probability of a wrong answer about one set
    bool is_random_ = false;
    bool takes_new_groups_ = true;
};

}  // namespace fp32shim::cli
