// Answers of runs: how often a set of groups has to run until its outcome is known.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <tuple>
#include <vector>

#include "cli/bisect/outcomes.hpp"
#include "cli/bisect/sequential_test.hpp"
#include "cli/product_groups/policy_text.hpp"

namespace fp32shim::cli {

struct SearchSettings {
    PolicySettings policy;
    std::uint64_t jobs = 1;
    std::uint64_t repeat = 1;       ///< runs with everything exact; more than 1: any run may fail at random
    bool compares_numbers = false;  ///< false: the command's exit status decides alone
    bool narrows_calls = false;     ///< the search also finds the calls of a group that make the command fail
};

/// Finds outcomes of sets, and keeps them. At first one run of a set decides. If equal runs have
/// differed, or the settings ask for it, runs may fail at random: their rate is estimated with everything exact, and
/// each set runs until a sequential test decides. All functions that run the command throw Interrupted and End.
class Answers {
  public:
    Answers(const SearchSettings& settings, SetRunner& runs, const GroupList& groups);

    /// Returns the outcome with everything exact. Its runs yield the groups, and the rate of random failures.
    Outcome with_everything_exact();
    /// Returns the outcome with everything lowered. A run that was acceptable and lowered nothing decides alone.
    Outcome with_everything_lowered();
    /// Returns the outcome of a set.
    const Outcome& of(Lowered lowered, const Subset& set, const CallRange& calls = {});
    /// Returns the outcome of a set if no further run is needed, else nullptr.
    const Outcome* known(Lowered lowered, const Subset& set, const CallRange& calls = {}) const;
    /// Runs several sets, all at once, until their outcomes are known.
    void decide(Lowered lowered, const std::vector<Subset>& sets, const CallRange& calls = {});
    /// Runs a set, whose verdict is known and stays, once more. Returns true if the run was acceptable.
    bool run_again(Lowered lowered, const Subset& set);
    /// Returns true if runs with everything exact have always failed right after a lowered run, and never after an
    /// exact one: then what a run leaves behind may decide the next one.
    bool depends_on_the_previous_run() const {
        return after_lowered_.failed > 0 && after_lowered_.passed == 0 && after_exact_.failed == 0;
    }
    /// Runs a set anew. Returns true if the new runs, judged by themselves, give the verdict that is known.
    bool confirm(Lowered lowered, const Subset& set, const CallRange& calls = {});

    bool expects_random_failures() const { return is_random_; }
    /// Takes runs to fail at random from now on: earlier runs count as evidence, but no longer decide alone.
    void expect_random_failures();
    /// Divides the probability of a wrong answer by ten, and doubles the number of runs with everything exact.
    /// Returns false if that has been done twice.
    bool be_stricter();
    /// Announces that the sets to come, with only their groups lowered, are parts of a set with this outcome.
    void suspect_parts_of(const Outcome& outcome);
    /// Announces that the sets to come may fail as seldom as the search can notice.
    void suspect_anything() { suspected_ = sought_; }
    /// Returns true if a set has run often enough without an answer.
    static bool has_no_answer(const Outcome& outcome);

    void take_new_groups(bool takes) { takes_new_groups_ = takes; }
    /// Returns all outcomes in the order in which they were found.
    const std::deque<TestedSet>& tested() const { return tested_; }
    /// Returns the outcome so far of a set; nullptr: it has not run.
    const Outcome* find(Lowered lowered, const Subset& set, const CallRange& calls = {}) const;
    /// Returns the number of runs that all outcomes took.
    std::uint64_t runs() const { return run_count_; }
    /// Returns the failure rates that the search tells apart; nullopt: runs are taken not to fail at random.
    std::optional<FailureRates> rates() const { return is_random_ ? std::optional(sought_) : std::nullopt; }

  private:
    std::optional<Verdict> decision(const TestedSet& tested) const;
    std::optional<Verdict> decision_by_rates(const Outcome& outcome, const FailureRates& rates, double error) const;
    const TestedSet* find_set(Lowered lowered, const Subset& set, const CallRange& calls) const;
    TestedSet& find_or_add_set(Lowered lowered, const Subset& set, const CallRange& calls = {});
    void run_once(std::vector<TestedSet*> sets);
    void count_exact_run(bool is_exact, Verdict verdict);

    const SearchSettings& settings_;
    SetRunner& runs_;
    const GroupList& groups_;
    std::deque<TestedSet> tested_;                                           ///< references to its members stay valid
    std::map<std::tuple<Lowered, Subset, CallRange>, std::size_t> indices_;  ///< indices in tested_
    std::uint64_t run_count_ = 0;
    FailureRates sought_{};                  ///< rates to tell apart for sets that a policy lowers
    FailureRates suspected_{};               ///< rates to tell apart for parts of a set that fails
    double error_ = error_of_an_answer(1);   ///< probability of a wrong answer about one set
    int strictness_ = 0;                     ///< number of times that be_stricter() has divided `error_` by ten
    RunCounts after_exact_, after_lowered_;  ///< runs with everything exact, right after an exact or a lowered run
    bool was_lowered_ = false;               ///< the last run lowered something
    bool is_random_ = false;
    bool takes_new_groups_ = true;
};

}  // namespace fp32shim::cli
