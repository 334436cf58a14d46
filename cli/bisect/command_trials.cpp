#include "cli/bisect/command_trials.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <set>
#include <tuple>
#include <utility>

#include "cli/binaries/file_hash.hpp"
#include "cli/bisect/search.hpp"
#include "cli/output/progress.hpp"
#include "cli/output/terminal.hpp"
#include "cli/trials/assumptions.hpp"
#include "cli/trials/command.hpp"
#include "cli/trials/numbers.hpp"
#include "policy/messages.hpp"

namespace fp32shim::cli {
namespace {

constexpr int tells_nothing = 125;  ///< exit status of a command that cannot be judged, as for `git bisect run`

/// Identity of a file's content, as far as the system tells it: a file that was written has another one.
struct FileStamp {
    ino_t file = 0;
    off_t size = -1;
    std::int64_t changed_ns = 0;
    bool operator==(const FileStamp&) const = default;
};

FileStamp stamp_of(const std::string& path) {
    struct stat status {};
    if (path.empty() || stat(path.c_str(), &status) != 0) return {};
    return {status.st_ino, status.st_size,
            std::int64_t{status.st_mtim.tv_sec} * 1'000'000'000 + status.st_mtim.tv_nsec};
}

}  // namespace

std::optional<TrialRun> CommandTrials::run_coarsest(const Subset& groups) {
    PolicySettings coarsest = settings_.policy;
    coarsest.precision = coarsest_precision;
    const TestedSet tested{Lowered::only, groups, {}};
    const FileStamp before = stamp_of(settings_.compared_file);
    FinishedRun run = std::move(
        runs_.run({{policy_lowering_only(groups_, groups, coarsest), request_for(tested).precision}}).front());
    const bool is_at_coarsest = ran_at_coarsest(run.products);
    const TrialRun trial = trial_of(std::move(run), tested, stamp_of(settings_.compared_file) != before, false);
    say("bisect", fmt::format("run {}: the same groups, asked for {}: {} ({})", run_count_, coarsest_precision,
                              to_string(trial.verdict), trial.how));
    return is_at_coarsest ? std::optional(trial) : std::nullopt;
}

RunRequest CommandTrials::request_for(const TestedSet& tested) const {
    // The default of a policy does not concern float64; what the environment says of float32 stays.
    const bool is_float64 = settings_.policy.types == TriedTypes::float64;
    if (tested.lowered == Lowered::only)
        return {policy_lowering_only(groups_, tested.set, settings_.policy, tested.calls),
                is_float64 ? "" : "highest"};
    return {policy_lowering_all_but(groups_, tested.set, settings_.policy, nullptr, nullptr),
            is_float64 ? "" : settings_.policy.precision};
}

/// Tells which words of the compared file differ from those of the reference.
void CommandTrials::learn_changing_words(const Numbers& exact) {
    if (exact.rows.size() != reference_.rows.size()) return;
    for (std::size_t row = 0; row <= exact.rows.size(); ++row)
        if (!exact.words_before(row).are_same(reference_.words_before(row))) has_changing_words_.insert(row);
}

/// Returns a sentence about the first words of a lowered run that differ, though they are equal in exact runs.
std::string CommandTrials::problem_with_words(const Numbers& found) {
    if (found.rows.size() != reference_.rows.size())
        return fmt::format("{} arrays instead of {}", found.rows.size(), reference_.rows.size());
    for (std::size_t row = 0; row <= found.rows.size(); ++row) {
        const Words &exact = reference_.words_before(row), &now = found.words_before(row);
        if (exact.are_same(now)) continue;
        if (!has_second_reference_) {
            const RunTime time = runs_.run({request_for({Lowered::only, {}, {}})}).front().time;
            learn_changing_words(read_numbers(settings_.compared_file, time));
            // In less time, a clock of another time zone may have shown the same.
            has_second_reference_ = !reference_.has_moments || time.begin_ns - reference_end_ns_ > 2'000'000'000;
        }
        if (has_changing_words_.contains(row)) continue;
        return fmt::format("{} {} has other words around it: {}",
                           row < found.rows.size() ? "number" : "the end after number",
                           row < found.rows.size() ? row + 1 : row, first_difference(exact, now));
    }
    return {};
}

/// Returns what is wrong with the numbers that the run has written; empty: nothing. The first ones are the reference.
std::string CommandTrials::problem_with_numbers(bool is_exact, const RunTime& time) {
    Numbers numbers = read_numbers(settings_.compared_file, time);
    leaves_out_clock_ = leaves_out_clock_ || numbers.has_clock;
    const std::string name = policy::quoted_path(settings_.compared_file);
    if (!numbers.problem.empty()) return name + ' ' + numbers.problem;
    if (reference_.values.empty()) {
        reference_ = std::move(numbers);
        reference_end_ns_ = time.end_ns;
        return {};
    }
    std::string difference =
        difference_between(reference_.values, numbers.values, settings_.relative, settings_.absolute);
    if (difference.empty()) {
        if (is_exact)
            learn_changing_words(numbers);
        else
            difference = problem_with_words(numbers);
    }
    return difference.empty() ? difference : name + ": " + difference;
}

void CommandTrials::judge_numbers(bool were_written, bool is_exact, const RunTime& time, TrialRun& trial) {
    const std::string problem = were_written ? problem_with_numbers(is_exact, time)
                                             : policy::quoted_path(settings_.compared_file) + " was not written";
    if (problem.empty()) return;
    trial.verdict = Verdict::not_acceptable;
    trial.how = problem;
}

/// Adds the groups that a run has met.
void CommandTrials::add_met_groups(const FinishedRun& run, const TestedSet& tested, bool takes_new_groups,
                                   TrialRun& trial) {
    const bool is_whole = tested.lowered == Lowered::all_but || tested.set.empty();
    const bool is_first = run_count_ == 1;
    std::set<GroupKey> known;
    for (const Group& group : groups_.all()) known.insert(group.key);
    for (const RecordedProducts::Met& met : run.products.groups) {
        const bool is_new = !known.contains(met.group.key);
        if (is_new && !is_first) ++trial.new_groups;
        if (is_new && !(is_whole && takes_new_groups)) continue;
        const std::size_t number = groups_.number_of(met.group);
        if (met.was_lowered && tested.lowered == Lowered::all_but) {
            trial.lowered.push_back(number);
            for (const std::string& format : other_formats(met.formats, settings_.policy.precision))
                trial.other_formats[format].push_back(number);
        }
        if (!is_whole) continue;
        trial.ran.push_back(number);
        if (!is_first && met.group.calls >= groups_[number].calls) trial.as_often.push_back(number);
    }
    for (Subset* const set : {&trial.lowered, &trial.ran, &trial.as_often}) std::ranges::sort(*set);
    for (auto& [format, set] : trial.other_formats) std::ranges::sort(set);
    trial.is_on_cpu = run.products.calls > 0 && run.products.calls_on_gpu == 0;
}

/// Ends a search in which runs keep on meeting groups that no earlier one met.
void CommandTrials::refuse_endless_groups() {
    const std::size_t now = groups_.all().size();
    if (first_groups_ == 0) first_groups_ = now;
    if (now <= 4 * first_groups_ + 16) return;
    throw SearchFailed{
        fmt::format("the first run met {}, and {} runs met {}, because names, lines or sizes differ "
                    "from run to run; give the program and its files the same names in each run",
                    counted(first_groups_, "group"), run_count_, now)};
}

/// Compares the time of a run that has failed with that of the exact ones.
void CommandTrials::note_time(const RunTime& time, const TestedSet& tested, const TrialRun& trial) {
    const auto seconds = static_cast<double>(time.end_ns - time.begin_ns) * 1e-9;
    if (tested.lowered == Lowered::only && tested.set.empty())
        longest_exact_ = std::max(longest_exact_, seconds);
    else if (trial.verdict == Verdict::not_acceptable && longest_exact_ > 0)
        slowest_failure_ = std::max(slowest_failure_, seconds / longest_exact_);
}

TrialRun CommandTrials::trial_of(FinishedRun run, const TestedSet& tested, bool were_written, bool takes_new_groups) {
    const Ended& ended = run.ended;
    if (ended.exec_error != 0)
        throw SearchFailed{fmt::format("a run cannot start: {}", std::strerror(ended.exec_error))};
    ++run_count_;
    TrialRun trial;
    trial.how = ended_text(ended);
    const bool has_passed = ended.signal == 0 && ended.exit_status == 0;
    const bool is_undecided = ended.signal == 0 && ended.exit_status == tells_nothing;
    trial.verdict = has_passed ? Verdict::acceptable : is_undecided ? Verdict::unresolved : Verdict::not_acceptable;
    note_time(run.time, tested, trial);
    if (has_passed && !settings_.compared_file.empty())
        judge_numbers(were_written, tested.lowered == Lowered::only && tested.set.empty(), run.time, trial);
    if (std::string problem = unknown_run_text(run); !problem.empty()) throw SearchFailed{std::move(problem)};
    trial.output = settings_.compared_file.empty() ? run.checksum : version_of_file(settings_.compared_file);
    add_met_groups(run, tested, takes_new_groups, trial);
    refuse_endless_groups();
    if (run_count_ == 1 && settings_.may_preview && trial.is_on_cpu) say_preview("bisect");
    last_run_ = std::move(run);
    return trial;
}

std::vector<TrialRun> CommandTrials::run(const std::vector<const TestedSet*>& sets, bool takes_new_groups) {
    std::vector<RunRequest> requests;
    requests.reserve(sets.size());
    for (const TestedSet* tested : sets) requests.push_back(request_for(*tested));
    const FileStamp before = stamp_of(settings_.compared_file);
    std::vector<FinishedRun> runs;
    {
        Progress progress("fp32shim bisect, runs");
        progress.show(run_count_, planned_runs());
        runs = runs_.run(requests);
    }
    const bool were_written = stamp_of(settings_.compared_file) != before;
    std::vector<TrialRun> trials;
    trials.reserve(sets.size());
    for (std::size_t i = 0; i < sets.size(); ++i)
        trials.push_back(trial_of(std::move(runs[i]), *sets[i], were_written, takes_new_groups));
    return trials;
}

std::string CommandTrials::make_reference() {
    const TestedSet exact{Lowered::only, {}, {}};
    TrialRun trial;
    for (int i = 0; i < 3 && reference_.values.empty(); ++i) trial = run({&exact}, false).front();
    run_count_ = runs_before_;  // the state does not count these runs
    return reference_.values.empty() ? trial.how : std::string();
}

std::string CommandTrials::caveats() const {
    std::string text(leaves_out_clock_ ? clock_text : "");
    if (slowest_failure_ > 2)
        text += fmt::format(
            "Assumed: the command has no time limit of its own. A lowered run that failed took {:.1f} times as long "
            "as "
            "the exact ones.\n",
            slowest_failure_);
    return text;
}

void CommandTrials::plan_runs(const Outcome& everything_lowered) {
    std::set<std::tuple<std::string, std::string, bool>> lines;
    for (const std::size_t group : everything_lowered.lowered) {
        const GroupKey& key = groups_[group].key;
        lines.emplace(key.scope, key.location.text, key.location.is_call_site);
    }
    if (everything_lowered.verdict == Verdict::acceptable || lines.empty()) return;
    const std::uint64_t sets = expected_sets(lines.size());
    planned_runs_ = everything_lowered.last_run + sets * std::max<std::uint64_t>(everything_lowered.runs, 1);
}

/// Returns the total of runs to show, which is raised by a half once it is reached; 0: not known.
std::uint64_t CommandTrials::planned_runs() {
    while (planned_runs_ != 0 && planned_runs_ <= run_count_) planned_runs_ += planned_runs_ / 2 + 1;
    return settings_.max_runs == 0 ? planned_runs_ : std::min(planned_runs_, settings_.max_runs);
}

/// Returns `; 8 s so far, about 20 s to come`; empty if no total is known.
std::string CommandTrials::time_text() {
    const std::uint64_t planned = planned_runs();
    if (planned == 0 || run_count_ == runs_before_) return {};
    const double spent = std::chrono::duration<double>(std::chrono::steady_clock::now() - began_).count();
    const auto whole_seconds = [](double seconds) { return duration_text(1e9 * std::ceil(seconds)); };
    const double of_a_run = spent / static_cast<double>(run_count_ - runs_before_);
    const std::uint64_t left = planned - std::min(planned, run_count_);
    std::string text = fmt::format("; {} so far", whole_seconds(spent));
    if (left > 0) text += fmt::format(", about {} to come", whole_seconds(of_a_run * static_cast<double>(left)));
    return text;
}

std::string CommandTrials::set_text(const TestedSet& tested) const {
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

void CommandTrials::note(const TestedSet& tested) {
    const Outcome& outcome = tested.outcome;
    const bool is_everything_lowered = tested.lowered == Lowered::all_but && tested.set.empty();
    if (is_everything_lowered && planned_runs_ == 0) plan_runs(outcome);
    const std::uint64_t planned = planned_runs();
    const std::string total = planned == 0 ? "" : fmt::format(" of about {}", planned);
    std::string how = outcome.how;
    if (outcome.runs > 1)
        how = fmt::format("{} of {} runs failed{}", outcome.failures, outcome.runs,
                          outcome.failures > 0 ? ": " + outcome.how : "");
    say("bisect",
        fmt::format("run {}{}: {}: {} ({}{}){}", outcome.last_run, total, set_text(tested),
                    to_string(outcome.verdict), how, outcome.is_flaky ? "; equal runs differed" : "", time_text()));
}

}  // namespace fp32shim::cli
