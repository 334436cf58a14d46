// Tests sets of groups: runs the command with each set as often as it takes until the outcome is known.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "cli/bisect/sequential_test.hpp"
#include "cli/product_groups/groups.hpp"
#include "cli/product_groups/policy_text.hpp"

namespace fp32shim::cli {

/// Groups that a test lowers: only those of a set, or all except those of a set.
enum class Lowered : std::uint8_t { only, all_but };

enum class Verdict : std::uint8_t { acceptable, not_acceptable, unresolved };

constexpr std::string_view to_string(Verdict verdict) {
    return verdict == Verdict::acceptable       ? "acceptable"
           : verdict == Verdict::not_acceptable ? "not acceptable"
                                                : "unresolved";
}

/// The outcome of one run of a set.
struct SetRunResult {
    Verdict verdict = Verdict::unresolved;
    std::string how{};                ///< end of a sentence: `ended with status 1`
    Subset lowered{};                 ///< Lowered::all_but: groups that ran at the lower precision
    std::set<GroupKey> new_groups{};  ///< groups that were not among those of the search when the run ended
    Subset ran{};                     ///< groups that ran; only of runs with everything exact and of Lowered::all_but
    Subset as_often{};  ///< groups called as often as in the first run that met them, or more; none of the first run
    bool is_on_cpu = false;  ///< all products ran on a CPU
    std::map<std::string, Subset>
        other_formats{};   ///< groups of `lowered` that also ran at other formats, by the formats' words
    std::string output{};  ///< checksum of the output, or of the compared file; empty: not known
};

/// The outcome of all runs of a set.
struct SetOutcome {
    Verdict verdict = Verdict::unresolved;
    std::string how;              ///< how the last failed run ended, or the last run if none failed
    bool is_flaky = false;        ///< equal runs had different outcomes
    std::uint64_t last_run = 0;   ///< number of the last run, from 1
    std::uint64_t runs = 0;       ///< number of runs
    std::uint64_t failures = 0;   ///< number of runs that were not acceptable
    std::uint64_t undecided = 0;  ///< number of runs that cannot be judged
    bool is_confirmed = false;    ///< further runs, judged by themselves, gave the same verdict
    Subset lowered;               ///< Lowered::all_but: groups that ran at the lower precision
    std::map<std::string, Subset>
        other_formats;   ///< groups of `lowered` that also ran at other formats, by the formats' words
    std::string output;  ///< checksum of the output, equal in all runs; empty: it differed, or is not known
    Subset ran;  ///< groups that ran in acceptable runs; only of Lowered::all_but and of runs with everything exact
    Subset as_often;    ///< groups of `ran` that ran at least as often as in the first run, in some run after it
    Subset less_often;  ///< groups that ran less often, or not at all, with everything exact in a run after the first
    bool was_on_cpu = false;        ///< all products of the first run of the set ran on a CPU
    std::set<GroupKey> new_groups;  ///< groups that were not among those of the search when a run met them

    std::uint64_t acceptable_runs() const { return runs - failures - undecided; }
};

/// A set of groups, and the outcome of its runs.
struct TestedSet {
    Lowered lowered = Lowered::only;
    Subset set;
    SetOutcome outcome;
    CallRange calls{};  ///< the only calls of their group that are lowered, if given

    bool is_everything_exact() const { return lowered == Lowered::only && set.empty(); }
};

/// Runs the command with sets lowered. Tests of the search have another implementation, which only computes.
class SetRunner {
  public:
    virtual ~SetRunner() = default;

    /// Runs the command once for each set, all at the same time; a set may occur several times. If not all may run,
    /// only the first ones do, and have a result. `takes_new_groups`: runs with all but a set lowered add groups that
    /// they meet for the first time.
    virtual std::vector<SetRunResult> run(const std::vector<const TestedSet*>& sets, bool takes_new_groups) = 0;
    /// Is called when the outcome of a set is known.
    virtual void report_outcome(const TestedSet& tested) = 0;
};

struct BisectSettings {
    PolicySettings policy;
    std::uint64_t jobs = 1;
    std::uint64_t repeat = 1;       ///< runs with everything exact; more than 1: any run may fail at random
    bool compares_numbers = false;  ///< false: the command's exit status decides alone
    bool narrows_calls = false;     ///< the search also finds the calls of a group that make the command fail
};

/// Finds outcomes of sets, and keeps them. At first one run of a set decides. If equal runs have differed, or the
/// settings ask for it, any run may fail at random: their rate is estimated with everything exact, and each set runs
/// until a sequential test decides. All functions that run the command throw InterruptedBySignal and SearchAborted.
class SetTester {
  public:
    SetTester(const BisectSettings& settings, SetRunner& runs, const GroupList& groups);

    /// Runs the command with everything exact, and returns the outcome. These runs tell the groups, and the rate of
    /// random failures.
    SetOutcome test_everything_exact();
    /// Runs the command with everything lowered, and returns the outcome. If a run was acceptable and lowered
    /// nothing, it decides alone.
    SetOutcome test_everything_lowered();
    /// Returns the outcome of a set, for which the command runs if it is not known yet.
    const SetOutcome& test(Lowered lowered, const Subset& set, const CallRange& calls = {});
    /// Returns the outcome of a set if no further run is needed, else nullptr.
    const SetOutcome* known_outcome(Lowered lowered, const Subset& set, const CallRange& calls = {}) const;
    /// Runs several sets, all at once, until their outcomes are known.
    void test_all(Lowered lowered, const std::vector<Subset>& sets, const CallRange& calls = {});
    /// Runs a set once more. Its verdict, which must be known, stays. Returns true if the run was acceptable.
    bool run_again(Lowered lowered, const Subset& set);
    /// Returns true if runs with everything exact have always failed right after a lowered run, and never after an
    /// exact one: then what a run leaves behind may decide the next one.
    bool depends_on_the_previous_run() const {
        return after_lowered_.failed > 0 && after_lowered_.passed == 0 && after_exact_.failed == 0;
    }
    /// Runs a set anew. Returns true if the new runs, judged by themselves, give the verdict that is known.
    bool confirm_verdict(Lowered lowered, const Subset& set, const CallRange& calls = {});

    bool expects_random_failures() const { return is_random_; }
    /// Assumes from now on that any run may fail at random: a single run is evidence, but does not decide alone.
    void expect_random_failures();
    /// Divides the probability of a wrong answer by ten, and doubles the number of runs with everything exact.
    /// Returns false if that has been done twice.
    bool reduce_error_rate();
    /// Announces that the sets to come, with only their groups lowered, are parts of a set with this outcome.
    void seek_failure_rate_of(const SetOutcome& outcome);
    /// Announces that the sets to come may fail as seldom as the search can notice.
    void seek_any_failure_rate() { suspected_ = sought_; }
    /// Returns true if a set has run often enough without an answer.
    static bool has_stayed_undecided(const SetOutcome& outcome);

    void set_takes_new_groups(bool takes) { takes_new_groups_ = takes; }
    /// Returns all sets that were tested, in the order of their first runs.
    const std::deque<TestedSet>& tested_sets() const { return tested_; }
    /// Returns the outcome so far of a set; nullptr: it has not run.
    const SetOutcome* find_outcome(Lowered lowered, const Subset& set, const CallRange& calls = {}) const;
    /// Returns the number of all runs.
    std::uint64_t run_count() const { return run_count_; }
    /// Returns the failure rates that the search tells apart; nullopt: runs are taken not to fail at random.
    std::optional<FailureRates> failure_rates() const { return is_random_ ? std::optional(sought_) : std::nullopt; }

  private:
    std::optional<Verdict> verdict_on(const TestedSet& tested) const;
    std::optional<Verdict> verdict_by_rates(const SetOutcome& outcome, const FailureRates& rates, double error) const;
    const TestedSet* find_set(Lowered lowered, const Subset& set, const CallRange& calls) const;
    TestedSet& find_or_add_set(Lowered lowered, const Subset& set, const CallRange& calls = {});
    void run_each_once(std::vector<TestedSet*> sets);
    void count_exact_run(bool is_exact, Verdict verdict);

    const BisectSettings& settings_;
    SetRunner& runs_;
    const GroupList& groups_;
    std::deque<TestedSet> tested_;                                           ///< references to its members stay valid
    std::map<std::tuple<Lowered, Subset, CallRange>, std::size_t> indices_;  ///< indices in tested_
    std::uint64_t run_count_ = 0;
    FailureRates sought_{};                    ///< rates to tell apart for sets that a policy lowers
    FailureRates suspected_{};                 ///< rates to tell apart for parts of a set that fails
    double error_ = error_rate_per_answer(1);  ///< probability of a wrong answer about one set
    int strictness_ = 0;                     ///< number of times that reduce_error_rate() has divided `error_` by ten
    RunCounts after_exact_, after_lowered_;  ///< runs with everything exact, right after an exact or a lowered run
    bool was_lowered_ = false;               ///< the last run lowered something
    bool is_random_ = false;
    bool takes_new_groups_ = true;
};

}  // namespace fp32shim::cli
