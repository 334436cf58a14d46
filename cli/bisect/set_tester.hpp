// Tests sets of groups of products at a lower precision. Runs the command with each set as often as is needed to know
// the outcome.
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

/// Says which groups of products a test runs at the lower precision: only the groups of a set, or all groups except
/// those of the set.
enum class Lowered : std::uint8_t { only, all_but };

enum class Verdict : std::uint8_t { acceptable, not_acceptable, unresolved };

constexpr std::string_view to_string(Verdict verdict) {
    return verdict == Verdict::acceptable       ? "acceptable"
           : verdict == Verdict::not_acceptable ? "not acceptable"
                                                : "unresolved";
}

/// The outcome of one run of the command in which some groups of products ran at the lower precision.
struct SetRunResult {
    Verdict verdict = Verdict::unresolved;
    std::string how{};  ///< end of a sentence that says how the run ended, such as `ended with status 1`
    Subset lowered{};   ///< groups that ran at the lower precision, if the run was one of Lowered::all_but
    std::set<GroupKey> new_groups{};  ///< groups that the search did not know before this run; empty in the first run
    Subset ran{};       ///< groups that ran, if all products were exact or the run was one of Lowered::all_but
    Subset as_often{};  ///< groups that ran at least as often as in the run that first recorded them; empty in the
                        ///< first run
    bool is_on_cpu = false;  ///< all products of the run were computed on a CPU
    std::map<std::string, Subset>
        other_formats{};   ///< groups of `lowered` that also ran in other formats, by the names of these formats
    std::string output{};  ///< checksum of the output or of the compared file; empty if it is unknown
};

/// The outcome of all runs of the command with the same groups of products at the lower precision.
struct SetOutcome {
    Verdict verdict = Verdict::unresolved;
    std::string how;              ///< how the last failed run ended, or how the last run ended if none failed
    bool is_flaky = false;        ///< runs of the same set had different outcomes
    std::uint64_t last_run = 0;   ///< number of the set's most recent run, counted from 1 over all runs of the search
    std::uint64_t runs = 0;       ///< number of runs
    std::uint64_t failures = 0;   ///< number of runs that were not acceptable
    std::uint64_t undecided = 0;  ///< number of runs that cannot be judged
    bool is_confirmed = false;    ///< further runs, judged separately, gave the same verdict
    Subset lowered;  ///< groups that ran at the lower precision, if the runs were those of Lowered::all_but
    std::map<std::string, Subset>
        other_formats;  ///< groups of `lowered` that also ran in other formats, by the names of these formats
    std::string
        output;  ///< checksum of the output if it was equal in all runs; empty if the output differed or is unknown
    Subset ran;  ///< groups that ran in acceptable runs, if all products were exact or the runs were those of
                 ///< Lowered::all_but
    Subset as_often;    ///< groups of `ran` that ran at least as often as in the first run, in at least one later run
    Subset less_often;  ///< groups that a later acceptable run of this set ran less often than the first run, or did
                        ///< not run
    bool was_on_cpu = false;        ///< all products of the first run of the set ran on a CPU
    std::set<GroupKey> new_groups;  ///< groups that the search did not know before a run of this set

    std::uint64_t acceptable_runs() const { return runs - failures - undecided; }
};

/// A set of groups that was tested, with the outcome of its runs.
struct TestedSet {
    Lowered lowered = Lowered::only;
    Subset set;
    SetOutcome outcome;
    CallRange calls{};  ///< if given, only these calls of their group are lowered

    bool is_everything_exact() const { return lowered == Lowered::only && set.empty(); }
};

/// An interface that runs the command with sets of groups lowered. The unit tests of the search implement it without
/// running a command.
class SetRunner {
  public:
    virtual ~SetRunner() = default;

    /// Runs the command once for each of `sets`, all at the same time. A set may occur several times. If not all runs
    /// are allowed, makes only the first ones and returns only their results. If `takes_new_groups` is true, groups
    /// that are recorded for the first time are added to the search, but not those of runs that lower only a set of
    /// groups.
    virtual std::vector<SetRunResult> run(const std::vector<const TestedSet*>& sets, bool takes_new_groups) = 0;
    /// Must be called once the outcome of a set is known. Tells the user the outcome.
    virtual void report_outcome(const TestedSet& tested) = 0;
};

struct BisectSettings {
    PolicySettings policy;
    std::uint64_t jobs = 1;
    std::uint64_t repeat =
        1;  ///< number of runs with all products exact; if it is more than 1, any run may fail at random
    bool compares_numbers = false;  ///< if false, only the exit status of the command is judged
    bool narrows_calls = false;     ///< the search also finds out which calls of a group make the command fail
};

/// Finds and keeps the outcomes of runs that lower sets of groups of products. At first, a single run of a set
/// decides. If runs of the same set have differed, or if the settings say so, any run may fail at random. The rate of
/// random failures is then estimated from runs with all products exact, and each set is run until a sequential test
/// decides. All functions that run the command throw InterruptedBySignal and SearchAborted.
class SetTester {
  public:
    SetTester(const BisectSettings& settings, SetRunner& runs, const GroupList& groups);

    /// Runs the command with all products exact, and returns the outcome. The runs show which groups of products
    /// there are, and how often the command fails at random.
    SetOutcome test_everything_exact();
    /// Runs the command with all products lowered, and returns the outcome. If a run was acceptable although no group
    /// was lowered, this run alone decides.
    SetOutcome test_everything_lowered();
    /// Returns the outcome of a set. If the outcome is not known yet, first runs the command.
    const SetOutcome& test(Lowered lowered, const Subset& set, const CallRange& calls = {});
    /// Returns the outcome of a set if it is known without further runs, and otherwise nullptr.
    const SetOutcome* known_outcome(Lowered lowered, const Subset& set, const CallRange& calls = {}) const;
    /// Runs the command with several sets at the same time, until the outcomes of all are known.
    void test_all(Lowered lowered, const std::vector<Subset>& sets, const CallRange& calls = {});
    /// Runs the command with a set once more. Keeps the set's known verdict. Returns true if the run was acceptable.
    bool run_again(Lowered lowered, const Subset& set);
    /// Returns true if runs with all products exact have always failed right after a run that lowered products, and
    /// never after another exact run. In this case, files that a run leaves behind may decide the outcome of the next
    /// run.
    bool depends_on_the_previous_run() const {
        return after_lowered_.failed > 0 && after_lowered_.passed == 0 && after_exact_.failed == 0;
    }
    /// Runs the command with a set anew. Returns true if the new runs, judged separately, give the known verdict.
    bool confirm_verdict(Lowered lowered, const Subset& set, const CallRange& calls = {});

    bool expects_random_failures() const { return is_random_; }
    /// Assumes from now on that any run may fail at random, so that a single run no longer decides.
    void expect_random_failures();
    /// Divides the probability of a wrong answer by ten, and doubles the number of runs with all products exact.
    /// Returns false, and changes nothing, if this has already been done twice.
    bool reduce_error_rate();
    /// Announces that the sets in the following tests of Lowered::only are parts of a set whose outcome was
    /// `outcome`. A part that causes most of the failures of the whole set then counts as failing.
    void seek_failure_rate_of(const SetOutcome& outcome);
    /// Announces that the sets in the following tests may fail with any rate that the search can notice.
    void seek_any_failure_rate() { suspected_ = sought_; }
    /// Returns true if the set has run often enough for an answer, but fails neither often nor seldom.
    static bool has_stayed_undecided(const SetOutcome& outcome);

    void set_takes_new_groups(bool takes) { takes_new_groups_ = takes; }
    /// Returns all tested sets, in the order of their first runs.
    const std::deque<TestedSet>& tested_sets() const { return tested_; }
    /// Returns the outcome of a set so far, or nullptr if the set has not run.
    const SetOutcome* find_outcome(Lowered lowered, const Subset& set, const CallRange& calls = {}) const;
    /// Returns the number of all runs that this object has made.
    std::uint64_t run_count() const { return run_count_; }
    /// Returns the failure rates that the search distinguishes, or nullopt if it assumes that runs do not fail at
    /// random.
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
    std::deque<TestedSet> tested_;  ///< a deque, so that references to its members stay valid
    std::map<std::tuple<Lowered, Subset, CallRange>, std::size_t>
        indices_;  ///< indices in tested_ by the key of the tested set
    std::uint64_t run_count_ = 0;
    FailureRates sought_{};                    ///< failure rates that tests of Lowered::all_but distinguish
    FailureRates suspected_{};                 ///< failure rates that tests of the parts of a failing set distinguish
    double error_ = error_rate_per_answer(1);  ///< probability of a wrong answer about one set
    int strictness_ = 0;                     ///< number of times that reduce_error_rate() has divided `error_` by ten
    RunCounts after_exact_, after_lowered_;  ///< runs with all products exact, separately by whether the run before
                                             ///< them was exact or lowered products
    bool was_lowered_ = false;               ///< the last run was one with products at lower precision
    bool is_random_ = false;
    bool takes_new_groups_ = true;
};

}  // namespace fp32shim::cli
