#include "cli/bisect/command_sets.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "cli/bisect/search.hpp"
#include "cli/command_line/commands.hpp"
#include "cli/output/terminal.hpp"
#include "cli/trials/assumptions.hpp"

namespace fp32shim::cli {
namespace {

constexpr int undecided_status = 125;  ///< exit status of a command that cannot be judged, as for `git bisect run`

}  // namespace

RunRequest CommandSets::request_for(const TestedSet& tested, const PolicySettings& policy) const {
    return tested.lowered == Lowered::only ? request_lowering_only(groups_, tested.set, policy, tested.calls)
                                           : request_lowering_all_but(groups_, tested.set, policy);
}

std::vector<SetRun> CommandSets::run(const std::vector<const TestedSet*>& sets, bool takes_new_groups) {
    std::vector<RunRequest> requests;
    requests.reserve(sets.size());
    for (const TestedSet* tested : sets) requests.push_back(request_for(*tested, settings_.policy));
    const bool is_exact = sets.front()->is_everything_exact();
    const std::vector<Trial> trials = trials_.run(requests, is_exact ? Purpose::reference : Purpose::answer);
    std::vector<SetRun> runs;
    for (std::size_t i = 0; i < trials.size(); ++i)
        runs.push_back(judge_trial(trials[i], *sets[i], takes_new_groups));
    return runs;
}

std::optional<SetRun> CommandSets::run_coarsest(const Subset& groups) {
    PolicySettings coarsest = settings_.policy;
    coarsest.precision = coarsest_precision;
    const TestedSet tested{Lowered::only, groups, {}};
    const Trial trial = trials_.run({request_for(tested, coarsest)}).front();
    const SetRun run = judge_trial(trial, tested, false);
    trials_.tell_result(trials_.count(), fmt::format("the same groups, asked for {}", coarsest_precision),
                        fmt::format("{} ({})", to_string(run.verdict), run.how));
    return ran_at_coarsest(trial.products) ? std::optional(run) : std::nullopt;
}

SetRun CommandSets::judge_trial(const Trial& trial, const TestedSet& tested, bool takes_new_groups) {
    ++run_count_;
    SetRun run;
    const bool is_undecided = trial.ended.signal == 0 && trial.ended.exit_status == undecided_status;
    run.verdict = is_undecided                     ? Verdict::unresolved
                  : trial.distance.problem.empty() ? Verdict::acceptable
                                                   : Verdict::not_acceptable;
    run.how = trial.distance.problem.empty() ? ended_text(trial.ended) : trial.distance.problem;
    run.output = trial.checksum;
    run.is_on_cpu = trial.is_on_cpu();
    note_time(trial, tested, run);
    add_met_groups(trial.products, tested, takes_new_groups, run);
    refuse_endless_groups();
    return run;
}

/// Adds the groups that a run has met.
void CommandSets::add_met_groups(const RecordedProducts& products, const TestedSet& tested, bool takes_new_groups,
                                 SetRun& run) {
    const bool is_whole = tested.lowered == Lowered::all_but || tested.set.empty();
    const bool is_first = run_count_ == 1;
    std::set<GroupKey> known;
    for (const Group& group : groups_.all()) known.insert(group.key);
    for (const RecordedProducts::RecordedGroup& met : products.groups) {
        const bool is_new = !known.contains(met.group.key);
        if (is_new && !is_first) ++run.new_groups;
        if (is_new && !(is_whole && takes_new_groups)) continue;
        const std::size_t number = groups_.number_of(met.group);
        if (met.was_lowered && tested.lowered == Lowered::all_but) {
            run.lowered.push_back(number);
            for (const std::string& format : other_formats(met.formats, settings_.policy.precision))
                run.other_formats[format].push_back(number);
        }
        if (!is_whole) continue;
        run.ran.push_back(number);
        if (!is_first && met.group.calls >= groups_[number].calls) run.as_often.push_back(number);
    }
    for (Subset* const set : {&run.lowered, &run.ran, &run.as_often}) std::ranges::sort(*set);
    for (auto& [format, set] : run.other_formats) std::ranges::sort(set);
}

/// Throws End if runs keep meeting groups that no earlier run met.
void CommandSets::refuse_endless_groups() {
    const std::size_t now = groups_.all().size();
    if (first_groups_ == 0) first_groups_ = now;
    if (now <= 4 * first_groups_ + 16) return;
    throw End{fmt::format("the first run had {}, and {} runs had {}, because names, lines or sizes differ "
                          "from run to run; give the program and its files the same names in each run",
                          counted(first_groups_, "group"), run_count_, now),
              exit_code::inconclusive};
}

/// Compares the time of a run that has failed with that of the exact ones.
void CommandSets::note_time(const Trial& trial, const TestedSet& tested, const SetRun& run) {
    if (tested.is_everything_exact())
        longest_exact_ = std::max(longest_exact_, trial.seconds());
    else if (run.verdict == Verdict::not_acceptable && longest_exact_ > 0 && !trial.has_passed())
        slowest_failure_ = std::max(slowest_failure_, trial.seconds() / longest_exact_);
}

std::string CommandSets::caveats() const {
    std::string text = other_libraries_text(trials_.first_products());
    if (trials_.reference().has_clock()) text += clock_text;
    if (slowest_failure_ > 2)
        text += fmt::format(
            "Assumed: the command has no time limit of its own. A lowered run that failed took {:.1f} times as long "
            "as the exact ones.\n",
            slowest_failure_);
    return text;
}

/// Estimates the number of all runs, assuming two culprits among the lines that were lowered.
void CommandSets::estimate_runs(const Outcome& everything_lowered) {
    const std::size_t lines = groups_.split(everything_lowered.lowered, line_key).size();
    if (everything_lowered.verdict == Verdict::acceptable || lines == 0) return;
    trials_.expect(everything_lowered.last_run +
                   expected_sets(lines) * std::max<std::uint64_t>(everything_lowered.runs, 1));
}

std::string CommandSets::text_of_set(const TestedSet& tested) const {
    const std::string of_all = fmt::format("{} of {} at {}", tested.set.size(),
                                           counted(groups_.all().size(), "group"), settings_.policy.precision);
    if (const CallRange& calls = tested.calls; calls.last != 0)
        return fmt::format("{}, {}, at {}", groups_[calls.group].location_text(), calls_text(calls),
                           settings_.policy.precision);
    if (tested.lowered == Lowered::all_but)
        return tested.set.empty() ? "everything at " + settings_.policy.precision : "all but " + of_all;
    if (tested.set.empty()) return "everything exact";
    if (tested.set.size() > 1) return of_all;
    return fmt::format("only {} at {}", groups_[tested.set[0]].location_text(), settings_.policy.precision);
}

void CommandSets::report_outcome(const TestedSet& tested) {
    const Outcome& outcome = tested.outcome;
    const bool is_everything_lowered = tested.lowered == Lowered::all_but && tested.set.empty();
    if (is_everything_lowered && trials_.expected() == 0) estimate_runs(outcome);
    std::string how = outcome.how;
    if (outcome.runs > 1)
        how = fmt::format("{} of {} runs failed{}", outcome.failures, outcome.runs,
                          outcome.failures > 0 ? ": " + outcome.how : "");
    trials_.tell_result(
        outcome.last_run, text_of_set(tested),
        fmt::format("{} ({}{})", to_string(outcome.verdict), how, outcome.is_flaky ? "; equal runs differed" : ""));
}

}  // namespace fp32shim::cli
