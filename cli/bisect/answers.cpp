#include "cli/bisect/answers.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "policy/messages.hpp"

namespace fp32shim::cli {
namespace {

constexpr std::uint64_t least_exact_runs = 20;  ///< for an estimate that was not asked for
constexpr std::uint64_t most_runs_of_a_set = 100;
constexpr double first_error = 1e-2, last_error = 1e-4;
constexpr double error_of_confirmation = 1e-3;

RunCounts counts_of(const Outcome& outcome) { return {outcome.failures, outcome.passed()}; }

bool is_mostly_undecided(const Outcome& outcome) { return outcome.undecided > outcome.failures + outcome.passed(); }

void add_run(const TrialRun& run, std::uint64_t number, Outcome& outcome) {
    ++outcome.runs;
    outcome.last_run = number;
    if (run.verdict == Verdict::not_acceptable) ++outcome.failures;
    if (run.verdict == Verdict::unresolved) ++outcome.undecided;
    if (run.verdict == Verdict::not_acceptable || outcome.failures == 0) outcome.how = run.how;
    outcome.is_flaky = std::max({outcome.failures, outcome.undecided, outcome.passed()}) < outcome.runs;
    outcome.lowered = union_of(outcome.lowered, run.lowered);
    outcome.new_groups += run.new_groups;
}

}  // namespace

Answers::Answers(const SearchSettings& settings, Trials& trials, SearchState& state)
    : settings_(settings),
      trials_(trials),
      state_(state),
      run_count_(state.runs()),
      error_(first_error),
      is_random_(settings.repeat > 1 || std::ranges::any_of(state.tested(), [](const TestedSet& tested) {
                     return tested.outcome.is_flaky;
                 })) {}

bool Answers::has_no_answer(const Outcome& outcome) {
    return outcome.verdict == Verdict::unresolved && !is_mostly_undecided(outcome);
}

/// Returns the verdict on a set; nullopt: more runs are needed.
std::optional<Verdict> Answers::decision(const Outcome& outcome, double error) const {
    if (outcome.runs == 0) return std::nullopt;
    if (is_mostly_undecided(outcome)) return Verdict::unresolved;
    if (!is_random_) return outcome.failures > 0 ? Verdict::not_acceptable : Verdict::acceptable;
    if (const auto by_cause = fails_by_cause(counts_of(outcome), rates_, error))
        return *by_cause ? Verdict::not_acceptable : Verdict::acceptable;
    if (outcome.runs >= most_runs_of_a_set) return Verdict::unresolved;
    return std::nullopt;
}

TestedSet Answers::so_far(Lowered lowered, const Subset& set, const CallRange& calls) const {
    const Outcome* const outcome = state_.find(lowered, set, calls);
    return {lowered, set, outcome == nullptr ? Outcome() : *outcome, calls};
}

void Answers::keep(TestedSet& tested) {
    if (!state_.add(tested)) throw SearchFailed{policy::quoted_path(state_.path()) + ": cannot be written"};
}

/// Runs the command once for each set, all at once. If runs may fail at random, more runs of these use up `jobs`.
void Answers::run_once(std::vector<TestedSet*> sets) {
    const std::size_t different = sets.size();
    while (is_random_ && sets.size() < settings_.jobs) sets.push_back(sets[sets.size() - different]);
    if (settings_.max_runs != 0) {
        if (run_count_ >= settings_.max_runs) throw OutOfRuns();
        sets.resize(std::min<std::uint64_t>(sets.size(), settings_.max_runs - run_count_));
    }
    const std::vector<TrialRun> runs = trials_.run({sets.begin(), sets.end()}, takes_new_groups_);
    for (std::size_t i = 0; i < sets.size(); ++i) add_run(runs[i], ++run_count_, sets[i]->outcome);
    std::ranges::sort(sets);
    const auto rest = std::ranges::unique(sets);
    sets.erase(rest.begin(), rest.end());
    for (TestedSet* const tested : sets) {
        tested->outcome.verdict = decision(tested->outcome, error_).value_or(Verdict::unresolved);
        keep(*tested);
    }
}

Outcome Answers::with_everything_exact() {
    TestedSet exact = so_far(Lowered::only, {}, {});
    Outcome& outcome = exact.outcome;
    const auto wanted = [this] {
        if (!is_random_) return std::uint64_t{1};
        return settings_.repeat > 1 ? settings_.repeat : least_exact_runs;
    };
    const auto has_only_failed = [&outcome] { return outcome.failures == outcome.runs; };
    const std::uint64_t runs_before = outcome.runs;
    while (outcome.runs < wanted() || (outcome.runs == 1 && has_only_failed())) {
        run_once({&exact});
        if (is_mostly_undecided(outcome) || (outcome.runs >= 2 && has_only_failed())) break;
        is_random_ = is_random_ || outcome.is_flaky;
    }
    outcome.verdict = is_mostly_undecided(outcome)           ? Verdict::unresolved
                      : 2 * outcome.failures >= outcome.runs ? Verdict::not_acceptable
                                                             : Verdict::acceptable;
    if (state_.find(Lowered::only, {})->verdict != outcome.verdict) keep(exact);
    if (outcome.runs > runs_before) trials_.note(exact);
    return outcome;
}

Outcome Answers::with_everything_lowered() {
    if (!is_random_) return of(Lowered::all_but, {});
    const RunCounts exact = counts_of(with_everything_exact());
    rates_ = estimated_rates(exact, {2, 0});  // as if they failed in most runs, until it is known how often
    const Outcome lowered = of(Lowered::all_but, {});
    rates_ = estimated_rates(exact, counts_of(lowered));
    return lowered;
}

const Outcome* Answers::known(Lowered lowered, const Subset& set, const CallRange& calls) const {
    const Outcome* const outcome = state_.find(lowered, set, calls);
    if (outcome == nullptr || decision(*outcome, error_) != outcome->verdict) return nullptr;
    return outcome;
}

const Outcome& Answers::of(Lowered lowered, const Subset& set, const CallRange& calls) {
    if (known(lowered, set, calls) == nullptr) find(lowered, {set}, calls);
    return *state_.find(lowered, set, calls);
}

void Answers::find(Lowered lowered, const std::vector<Subset>& sets, const CallRange& calls) {
    std::vector<TestedSet> tests;
    tests.reserve(sets.size());
    for (const Subset& set : sets) tests.push_back(so_far(lowered, set, calls));
    for (std::vector<TestedSet*> open;; open.clear()) {
        for (TestedSet& one : tests)
            if (!decision(one.outcome, error_)) open.push_back(&one);
        if (open.empty()) break;
        run_once(open);
    }
    for (TestedSet& one : tests) {
        one.outcome.verdict = *decision(one.outcome, error_);
        if (state_.find(lowered, one.set, calls)->verdict != one.outcome.verdict) keep(one);
        trials_.note(one);
    }
}

bool Answers::confirm(Lowered lowered, const Subset& set, const CallRange& calls) {
    const Outcome before = of(lowered, set, calls);
    if (before.is_confirmed) return true;
    TestedSet tested = so_far(lowered, set, calls);
    Outcome& outcome = tested.outcome;
    std::optional<Verdict> verdict;
    while (!verdict) {
        run_once({&tested});
        Outcome fresh = outcome;
        fresh.runs -= before.runs;
        fresh.failures -= before.failures;
        fresh.undecided -= before.undecided;
        verdict = decision(fresh, error_of_confirmation);
    }
    outcome.is_confirmed = *verdict == before.verdict && !has_no_answer(before);
    if (outcome.is_confirmed) outcome.verdict = before.verdict;
    keep(tested);
    trials_.note(tested);
    return outcome.is_confirmed;
}

void Answers::expect_random_failures() {
    is_random_ = true;
    const Outcome exact = with_everything_exact();
    if (exact.verdict != Verdict::acceptable)
        throw SearchFailed{
            fmt::format("with everything exact, {} of {} runs were not acceptable: the command fails by "
                        "chance too often for a search",
                        exact.runs - exact.passed(), exact.runs)};
    with_everything_lowered();
}

bool Answers::be_stricter() {
    if (error_ <= last_error) return false;
    error_ /= 10;
    return true;
}

}  // namespace fp32shim::cli
