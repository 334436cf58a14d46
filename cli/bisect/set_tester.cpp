#include "cli/bisect/set_tester.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "cli/command_line/commands.hpp"
#include "cli/trials/state.hpp"

namespace fp32shim::cli {
namespace {

constexpr std::uint64_t min_exact_runs =
    20;  ///< number of exact runs for an estimate of random failures if --repeat does not set it
constexpr std::uint64_t max_runs_of_a_set = 150;
constexpr std::uint64_t min_failing_runs =
    10;  ///< least number of runs from which the failure rate of a set is estimated
constexpr int max_strictness = 2;
constexpr double error_of_confirmation = 1e-3;

RunCounts counts_of(const SetOutcome& outcome) { return {outcome.failures, outcome.acceptable_runs()}; }

bool is_mostly_undecided(const SetOutcome& outcome) {
    return outcome.undecided > outcome.failures + outcome.acceptable_runs();
}

void add_run(const SetRunResult& run, std::uint64_t number, SetOutcome& outcome) {
    ++outcome.runs;
    outcome.last_run = number;
    if (run.verdict == Verdict::not_acceptable) ++outcome.failures;
    if (run.verdict == Verdict::unresolved) ++outcome.undecided;
    if (run.verdict == Verdict::not_acceptable || outcome.failures == 0) outcome.how = run.how;
    outcome.is_flaky = std::max({outcome.failures, outcome.undecided, outcome.acceptable_runs()}) < outcome.runs;
    outcome.lowered = union_of(outcome.lowered, run.lowered);
    outcome.new_groups.insert(run.new_groups.begin(), run.new_groups.end());
    for (const auto& [format, groups] : run.other_formats)
        outcome.other_formats[format] = union_of(outcome.other_formats[format], groups);
    if (outcome.runs == 1) outcome.was_on_cpu = run.is_on_cpu;
    if (outcome.runs == 1)
        outcome.output = run.output;
    else if (outcome.output != run.output)
        outcome.output.clear();
    if (run.verdict != Verdict::acceptable) return;
    if (number > 1) outcome.less_often = union_of(outcome.less_often, without(outcome.ran, run.as_often));
    outcome.ran = union_of(outcome.ran, run.ran);
    outcome.as_often = union_of(outcome.as_often, run.as_often);
}

}  // namespace

SetTester::SetTester(const BisectSettings& settings, SetRunner& runs, const GroupList& groups)
    : settings_(settings), runs_(runs), groups_(groups), is_random_(settings.repeat > 1) {}

const TestedSet* SetTester::find_set(Lowered lowered, const Subset& set, const CallRange& calls) const {
    const auto found = indices_.find({lowered, set, calls});
    return found == indices_.end() ? nullptr : &tested_[found->second];
}

const SetOutcome* SetTester::find_outcome(Lowered lowered, const Subset& set, const CallRange& calls) const {
    const TestedSet* const tested = find_set(lowered, set, calls);
    return tested == nullptr ? nullptr : &tested->outcome;
}

/// Returns the entry of a tested set. If the set is new, first adds an entry without runs.
TestedSet& SetTester::find_or_add_set(Lowered lowered, const Subset& set, const CallRange& calls) {
    const auto [index, is_new] = indices_.try_emplace({lowered, set, calls}, tested_.size());
    if (is_new) tested_.push_back({lowered, set, {}, calls});
    return tested_[index->second];
}

bool SetTester::has_stayed_undecided(const SetOutcome& outcome) {
    return outcome.verdict == Verdict::unresolved && !is_mostly_undecided(outcome);
}

std::optional<Verdict> SetTester::verdict_by_rates(const SetOutcome& outcome, const FailureRates& rates,
                                                   double error) const {
    if (outcome.runs == 0) return std::nullopt;
    if (is_mostly_undecided(outcome)) return Verdict::unresolved;
    if (!is_random_) return outcome.failures > 0 ? Verdict::not_acceptable : Verdict::acceptable;
    if (const auto by_cause = fails_by_cause(counts_of(outcome), rates, error))
        return *by_cause ? Verdict::not_acceptable : Verdict::acceptable;
    if (outcome.runs >= max_runs_of_a_set) return Verdict::unresolved;
    return std::nullopt;
}

/// Returns the verdict on a tested set, or nullopt if more runs are needed.
std::optional<Verdict> SetTester::verdict_on(const TestedSet& tested) const {
    const SetOutcome& outcome = tested.outcome;
    if (tested.lowered == Lowered::only) return verdict_by_rates(outcome, suspected_, error_);
    if (tested.set.empty() && outcome.acceptable_runs() > 0 && outcome.lowered.empty()) return Verdict::acceptable;
    const std::optional<Verdict> verdict = verdict_by_rates(outcome, sought_, error_);
    const bool is_estimate = is_random_ && verdict == Verdict::not_acceptable;
    return is_estimate && outcome.runs < min_failing_runs ? std::nullopt : verdict;
}

/// Runs the command once for each set, all at the same time. If runs may fail at random, repeats sets until `jobs`
/// runs are made at once.
void SetTester::run_each_once(std::vector<TestedSet*> sets) {
    const std::size_t different = sets.size();
    while (is_random_ && sets.size() < settings_.jobs) sets.push_back(sets[sets.size() - different]);
    const std::vector<SetRunResult> runs = runs_.run({sets.begin(), sets.end()}, takes_new_groups_);
    sets.resize(runs.size());
    for (std::size_t i = 0; i < sets.size(); ++i) {
        add_run(runs[i], ++run_count_, sets[i]->outcome);
        count_exact_run(sets[i]->is_everything_exact(), runs[i].verdict);
    }
    for (TestedSet* const tested : sets) tested->outcome.verdict = verdict_on(*tested).value_or(Verdict::unresolved);
}

/// If all products were exact in a run, counts the run. Runs with all products exact that come right after a run with
/// lowered products are counted separately from the others.
void SetTester::count_exact_run(bool is_exact, Verdict verdict) {
    if (is_exact && verdict != Verdict::unresolved) {
        RunCounts& counts = was_lowered_ ? after_lowered_ : after_exact_;
        ++(verdict == Verdict::acceptable ? counts.passed : counts.failed);
    }
    was_lowered_ = !is_exact;
}

SetOutcome SetTester::test_everything_exact() {
    TestedSet& exact = find_or_add_set(Lowered::only, {});
    SetOutcome& outcome = exact.outcome;
    const auto wanted = [this] {
        if (!is_random_) return std::uint64_t{1};
        return (settings_.repeat > 1 ? settings_.repeat : min_exact_runs) << strictness_;
    };
    const auto has_only_failed = [&outcome] { return outcome.failures == outcome.runs; };
    const std::uint64_t runs_before = outcome.runs;
    while (outcome.runs < wanted() || (outcome.runs == 1 && has_only_failed())) {
        run_each_once({&exact});
        if (is_mostly_undecided(outcome) || (outcome.runs >= 2 && has_only_failed())) break;
        is_random_ = is_random_ || outcome.is_flaky;
    }
    outcome.verdict = is_mostly_undecided(outcome)           ? Verdict::unresolved
                      : 2 * outcome.failures >= outcome.runs ? Verdict::not_acceptable
                                                             : Verdict::acceptable;
    if (outcome.runs > runs_before) runs_.report_outcome(exact);
    return outcome;
}

bool SetTester::run_again(Lowered lowered, const Subset& set) {
    const SetOutcome before = test(lowered, set);
    TestedSet& tested = find_or_add_set(lowered, set);
    run_each_once({&tested});
    tested.outcome.verdict = before.verdict;
    runs_.report_outcome(tested);
    return tested.outcome.acceptable_runs() > before.acceptable_runs();
}

SetOutcome SetTester::test_everything_lowered() {
    if (is_random_) {
        const RunCounts exact = counts_of(test_everything_exact());
        const double error = error_rate_per_answer(groups_.line_count());
        sought_ = suspected_ = rates_to_tell_apart(exact, error);
        error_ = error * std::pow(0.1, strictness_);
    }
    return test(Lowered::all_but, {});
}

void SetTester::seek_failure_rate_of(const SetOutcome& outcome) {
    if (is_random_) suspected_ = rates_for_parts(sought_, counts_of(outcome));
}

const SetOutcome* SetTester::known_outcome(Lowered lowered, const Subset& set, const CallRange& calls) const {
    const TestedSet* const tested = find_set(lowered, set, calls);
    return tested == nullptr || verdict_on(*tested) != tested->outcome.verdict ? nullptr : &tested->outcome;
}

const SetOutcome& SetTester::test(Lowered lowered, const Subset& set, const CallRange& calls) {
    if (known_outcome(lowered, set, calls) == nullptr) test_all(lowered, {set}, calls);
    return *find_outcome(lowered, set, calls);
}

void SetTester::test_all(Lowered lowered, const std::vector<Subset>& sets, const CallRange& calls) {
    std::vector<TestedSet*> tests;
    for (const Subset& set : sets) tests.push_back(&find_or_add_set(lowered, set, calls));
    for (std::vector<TestedSet*> open;; open.clear()) {
        std::ranges::copy_if(tests, std::back_inserter(open), [this](TestedSet* one) { return !verdict_on(*one); });
        if (open.empty()) break;
        run_each_once(open);
    }
    for (TestedSet* const one : tests) {
        one->outcome.verdict = *verdict_on(*one);
        runs_.report_outcome(*one);
    }
}

bool SetTester::confirm_verdict(Lowered lowered, const Subset& set, const CallRange& calls) {
    const SetOutcome before = test(lowered, set, calls);
    if (before.is_confirmed) return true;
    TestedSet& tested = find_or_add_set(lowered, set, calls);
    SetOutcome& outcome = tested.outcome;
    std::optional<Verdict> verdict;
    while (!verdict) {
        run_each_once({&tested});
        SetOutcome fresh = outcome;
        fresh.runs -= before.runs;
        fresh.failures -= before.failures;
        fresh.undecided -= before.undecided;
        verdict = verdict_by_rates(fresh, sought_, std::min(error_, error_of_confirmation));
    }
    outcome.is_confirmed = *verdict == before.verdict && !has_stayed_undecided(before);
    if (outcome.is_confirmed) outcome.verdict = before.verdict;
    runs_.report_outcome(tested);
    return outcome.is_confirmed;
}

void SetTester::expect_random_failures() {
    is_random_ = true;
    const SetOutcome exact = test_everything_exact();
    if (exact.verdict != Verdict::acceptable)
        throw SearchAborted{
            fmt::format("with everything exact, {} of {} runs were not acceptable: the command fails by chance "
                        "too often for a search",
                        exact.runs - exact.acceptable_runs(), exact.runs),
            exit_code::inconclusive};
    test_everything_lowered();
}

bool SetTester::reduce_error_rate() {
    if (strictness_ >= max_strictness) return false;
    ++strictness_;
    expect_random_failures();
    return true;
}

}  // namespace fp32shim::cli
