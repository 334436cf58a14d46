// Implements `fp32shim bisect`, which finds the matrix products that must stay exact (at full precision) so that a
// command still succeeds. It runs the command under policies that lower the precision of some of its products.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "cli/bisect/result.hpp"
#include "cli/bisect/search.hpp"
#include "cli/bisect/set_tester.hpp"
#include "cli/command_line/commands.hpp"
#include "cli/command_line/options.hpp"
#include "cli/output/json.hpp"
#include "cli/output/moment.hpp"
#include "cli/output/terminal.hpp"
#include "cli/product_groups/groups.hpp"
#include "cli/trials/assumptions.hpp"
#include "cli/trials/search_command.hpp"
#include "cli/trials/trials.hpp"
#include "policy/sha256.hpp"

namespace fp32shim::cli {
namespace {

// ---- The following code runs the command with sets of groups of products at a lower precision, and judges the runs.

/// Runs the command under a policy for each set of groups of products that is to be tested, judges the runs, and
/// tells the user each outcome.
class LoweredSetRunner : public SetRunner {
  public:
    LoweredSetRunner(const BisectSettings& settings, TrialRunner& trials, GroupList& groups)
        : settings_(settings), trials_(trials), groups_(groups) {}

    std::vector<SetRunResult> run(const std::vector<const TestedSet*>& sets, bool takes_new_groups) override;
    void report_outcome(const TestedSet& tested) override;
    /// Runs the command with the products of `groups` at coarsest_precision and all others exact. Returns nullopt if
    /// no product ran at that precision.
    std::optional<SetRunResult> run_coarsest(const Subset& groups);
    /// Returns sentences about facts that were ignored or assumed when the runs were judged.
    std::string caveats() const;

  private:
    RunRequest request_for(const TestedSet& tested, const PolicySettings& policy) const;
    SetRunResult judge_trial(const Trial& trial, const TestedSet& tested, bool takes_new_groups);
    void add_recorded_groups(const RecordedProducts& products, const TestedSet& tested, bool takes_new_groups,
                             SetRunResult& run);
    void note_time(const Trial& trial, const TestedSet& tested, const SetRunResult& run);
    void refuse_endless_groups();
    void estimate_runs(const SetOutcome& everything_lowered);
    std::string text_of_set(const TestedSet& tested) const;

    const BisectSettings& settings_;
    TrialRunner& trials_;
    GroupList& groups_;
    std::uint64_t run_count_ = 0;
    std::size_t first_groups_ = 0;  ///< number of groups of products in the first run
    double longest_exact_ = 0;      ///< longest time in seconds of a run with all products exact
    double slowest_failure_ = 0;  ///< longest time of a failed run with lowered products that did not end with status
                                  ///< 0, relative to longest_exact_
};

constexpr int undecided_status = 125;  ///< exit status of a command that cannot be judged, as in `git bisect run`

RunRequest LoweredSetRunner::request_for(const TestedSet& tested, const PolicySettings& policy) const {
    return tested.lowered == Lowered::only ? request_lowering_only(groups_, tested.set, policy, tested.calls)
                                           : request_lowering_all_but(groups_, tested.set, policy);
}

std::vector<SetRunResult> LoweredSetRunner::run(const std::vector<const TestedSet*>& sets, bool takes_new_groups) {
    std::vector<RunRequest> requests;
    requests.reserve(sets.size());
    for (const TestedSet* tested : sets) requests.push_back(request_for(*tested, settings_.policy));
    const bool is_exact = sets.front()->is_everything_exact();
    const std::vector<Trial> trials =
        trials_.run_all(requests, is_exact ? RunPurpose::reference : RunPurpose::answer);
    std::vector<SetRunResult> runs;
    for (std::size_t i = 0; i < trials.size(); ++i)
        runs.push_back(judge_trial(trials[i], *sets[i], takes_new_groups));
    return runs;
}

std::optional<SetRunResult> LoweredSetRunner::run_coarsest(const Subset& groups) {
    PolicySettings coarsest = settings_.policy;
    coarsest.precision = coarsest_precision;
    const TestedSet tested{Lowered::only, groups, {}};
    const Trial trial = trials_.run_all({request_for(tested, coarsest)}).front();
    const SetRunResult run = judge_trial(trial, tested, false);
    trials_.report_run(trials_.run_count(), fmt::format("the same groups, asked for {}", coarsest_precision),
                       fmt::format("{} ({})", to_string(run.verdict), run.how));
    return ran_at_coarsest(trial.products) ? std::optional(run) : std::nullopt;
}

SetRunResult LoweredSetRunner::judge_trial(const Trial& trial, const TestedSet& tested, bool takes_new_groups) {
    ++run_count_;
    SetRunResult run;
    const bool is_undecided = trial.ended.signal == 0 && trial.ended.exit_status == undecided_status;
    run.verdict = is_undecided                     ? Verdict::unresolved
                  : trial.distance.problem.empty() ? Verdict::acceptable
                                                   : Verdict::not_acceptable;
    run.how = trial.distance.problem.empty() ? program_end_text(trial.ended) : trial.distance.problem;
    run.output = trial.checksum;
    run.is_on_cpu = trial.is_on_cpu();
    note_time(trial, tested, run);
    add_recorded_groups(trial.products, tested, takes_new_groups, run);
    refuse_endless_groups();
    return run;
}

/// Adds the groups of products that a run has recorded for the first time to the groups of the search, if it may add
/// any. Stores in `run` which groups ran, whether as often as before, and at which formats.
void LoweredSetRunner::add_recorded_groups(const RecordedProducts& products, const TestedSet& tested,
                                           bool takes_new_groups, SetRunResult& run) {
    const bool is_whole = tested.lowered == Lowered::all_but || tested.set.empty();
    const bool is_first = run_count_ == 1;
    std::set<GroupKey> known;
    for (const ProductGroup& group : groups_.all()) known.insert(group.key);
    for (const RecordedProducts::RecordedGroup& met : products.groups) {
        const bool is_new = !known.contains(met.group.key);
        if (is_new && !is_first) run.new_groups.insert(met.group.key);
        if (is_new && !(is_whole && takes_new_groups)) continue;
        const std::size_t number = groups_.find_or_add(met.group);
        if (met.was_lowered && tested.lowered == Lowered::all_but) {
            run.lowered.push_back(number);
            for (const std::string& format : formats_other_than(met.formats, settings_.policy.precision))
                run.other_formats[format].push_back(number);
        }
        if (!is_whole) continue;
        run.ran.push_back(number);
        if (!is_first && met.group.calls >= groups_[number].calls) run.as_often.push_back(number);
    }
    for (Subset* const set : {&run.lowered, &run.ran, &run.as_often}) std::ranges::sort(*set);
    for (auto& [format, set] : run.other_formats) std::ranges::sort(set);
}

/// Throws SearchAborted if the runs keep recording groups of products that no earlier run has recorded.
void LoweredSetRunner::refuse_endless_groups() {
    const std::size_t now = groups_.all().size();
    if (first_groups_ == 0) first_groups_ = now;
    if (now <= 4 * first_groups_ + 16) return;
    throw SearchAborted{fmt::format("the first run had {}, and {} runs had {}, because names, lines or sizes differ "
                                    "from run to run; give the program and its files the same names in each run",
                                    counted(first_groups_, "group"), run_count_, now),
                        exit_code::inconclusive};
}

/// Updates the longest time of runs with all products exact, or the longest relative time of failed runs with lowered
/// products.
void LoweredSetRunner::note_time(const Trial& trial, const TestedSet& tested, const SetRunResult& run) {
    if (tested.is_everything_exact())
        longest_exact_ = std::max(longest_exact_, trial.duration_seconds());
    else if (run.verdict == Verdict::not_acceptable && longest_exact_ > 0 && !trial.has_passed())
        slowest_failure_ = std::max(slowest_failure_, trial.duration_seconds() / longest_exact_);
}

std::string LoweredSetRunner::caveats() const {
    std::string text = other_libraries_text(trials_.first_products());
    if (trials_.reference().has_run_timestamps()) text += run_timestamps_text;
    if (slowest_failure_ > 2)
        text += fmt::format(
            "Assumed: the command has no time limit of its own. A lowered run that failed took {:.1f} times as long "
            "as the exact ones.\n",
            slowest_failure_);
    return text;
}

/// Sets the number of runs that the search is expected to need, assuming that the products of two of the lowered
/// source lines must stay exact.
void LoweredSetRunner::estimate_runs(const SetOutcome& everything_lowered) {
    const std::size_t lines = groups_.split(everything_lowered.lowered, line_key).size();
    if (everything_lowered.verdict == Verdict::acceptable || lines == 0) return;
    trials_.expect_run_count(everything_lowered.last_run +
                             expected_set_count(lines) * std::max<std::uint64_t>(everything_lowered.runs, 1));
}

std::string LoweredSetRunner::text_of_set(const TestedSet& tested) const {
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

void LoweredSetRunner::report_outcome(const TestedSet& tested) {
    const SetOutcome& outcome = tested.outcome;
    const bool is_everything_lowered = tested.lowered == Lowered::all_but && tested.set.empty();
    if (is_everything_lowered && trials_.expected_run_count() == 0) estimate_runs(outcome);
    std::string how = outcome.how;
    if (outcome.runs > 1)
        how = fmt::format("{} of {} runs failed{}", outcome.failures, outcome.runs,
                          outcome.failures > 0 ? ": " + outcome.how : "");
    trials_.report_run(
        outcome.last_run, text_of_set(tested),
        fmt::format("{} ({}{})", to_string(outcome.verdict), how, outcome.is_flaky ? "; equal runs differed" : ""));
}

/// The precision at which float64 products are tried by default.
constexpr std::string_view float64_precision = "fp32";

struct BisectOptions : SearchOptions {
    std::string dtype{}, precision{};
    std::int64_t max_runs = 0;
    double relative = 0, absolute = 0;
    bool narrows_calls = false;

    TriedTypes types() const {
        return dtype == to_string(TriedTypes::float64) ? TriedTypes::float64 : TriedTypes::float32;
    }
};

/// Returns the problem with the combination of options, or an empty text if the combination is valid.
std::string problem_in_options(const BisectOptions& options) {
    const bool is_float32 = options.types() == TriedTypes::float32;
    if (is_float32 && options.precision == float64_precision)
        return "--precision fp32 is how float32 products are called; it lowers those of --dtype float64";
    if (is_float32 && options.precision == "sgemm")
        return "--precision sgemm is for products of --dtype float64 only";
    if (!options.compare.empty() && options.relative == 0 && options.absolute == 0)
        return "--compare needs --rtol NUMBER or --atol NUMBER, the largest acceptable difference";
    if (options.compare.empty() && (options.relative != 0 || options.absolute != 0))
        return "--rtol and --atol need --compare FILE, the file with the numbers";
    return {};
}

/// Throws SearchAborted if the command is not acceptable even with all products exact, or if it has no products.
void check_exact_run(const SetOutcome& exact, const Trial& run, const GroupList& groups, TriedTypes types) {
    const std::string with = "with everything exact, the command ";
    if (exact.verdict == Verdict::acceptable) {
        if (groups.all().empty()) throw no_product_seen_error(run.products, types);
        return;
    }
    print(last_lines_of(run.output), STDERR_FILENO);
    if (exact.verdict == Verdict::unresolved)
        throw SearchAborted{with + "is undecided (status 125), so there is nothing to compare with",
                            exit_code::inconclusive};
    if (exact.is_flaky)
        throw SearchAborted{fmt::format("{}failed in {} of {} runs ({}): by chance, and too often for a search", with,
                                        exact.failures, exact.runs, exact.how),
                            exit_code::inconclusive};
    if (run.ended.signal != 0) throw SearchAborted{with + exact.how, exit_code::was_killed};
    throw SearchAborted{
        with + "is not acceptable (" + exact.how + "); it must be acceptable before its products are lowered",
        exit_code::finding};
}

/// Checks whether the output of the command depends on its products. Compares the outputs of the runs so far. If all
/// products may be lowered and ran on a CPU, also makes a run at the coarsest precision.
void check_dependence(const SetTester& tester, LoweredSetRunner& sets, SearchConclusion& findings) {
    if (!findings.doubt.empty()) return;
    const SetOutcome& exact = *tester.find_outcome(Lowered::only, {});
    const SetOutcome* const lowered = tester.find_outcome(Lowered::all_but, groups_of_culprits(findings.culprits));
    if (lowered == nullptr) return;
    const bool is_silent = exact.output == policy::Sha256().hex_digest();
    const bool is_equal = !exact.output.empty() && lowered->output == exact.output;
    if (is_equal && !is_silent) findings.dependence = unchanged_output_text;
    if (!findings.culprits.empty() || !exact.was_on_cpu) return;
    const std::optional<SetRunResult> coarsest = sets.run_coarsest(lowered->lowered);
    if (!coarsest) return;
    const bool is_acceptable = coarsest->verdict == Verdict::acceptable;
    if (is_acceptable && is_equal && coarsest->output == exact.output)
        findings.doubt = unproven_dependence_text(true);
    else if (is_acceptable && !is_equal)
        findings.dependence = fmt::format(
            "It was acceptable at {}, too. If the command checks nothing, give it a test that ends with status 1 "
            "when the result is bad, or name the result with --compare FILE --rtol NUMBER.\n",
            coarsest_precision);
    else if (!tester.expects_random_failures() && (is_equal || !is_acceptable))
        findings.dependence = proven_dependence_text(is_acceptable ? "changed" : "was not acceptable", is_equal);
}

/// Writes the policy file if a run under the policy was acceptable, and prints the result. Returns the exit code.
int write_policy_and_result(const BisectOptions& options, BisectResult result) {
    const SearchConclusion& findings = result.findings;
    const std::string& doubt = findings.doubt;
    if (doubt.empty() || !findings.culprits.empty()) {
        const SetOutcome* const shown =
            result.tester.find_outcome(Lowered::all_but, groups_of_culprits(findings.culprits));
        const bool is_enough = shown != nullptr && shown->verdict == Verdict::acceptable;
        if (is_enough && !findings.culprits.empty())
            result.policy.write_file(options, policy_comment(result), policy_text_of(result));
        print(options.is_json ? json_text(to_json(result)) : wrapped(result_text(result)));
    }
    if (doubt.empty()) return exit_code::ok;
    const bool is_chance = result.tester.expects_random_failures() && !findings.is_chance_excluded &&
                           std::ranges::none_of(findings.culprits, &Culprit::is_untried);
    throw SearchAborted{
        fmt::format("not certain: {}{}", doubt,
                    is_chance ? "; a larger --repeat estimates the rate of random failures better" : ""),
        exit_code::inconclusive};
}

int search(const BisectOptions& options, TrialRunner& trials) {
    const WorkingFolderSnapshot folder;
    BisectSettings settings{.policy = {options.precision, options.cpu, options.name, options.types()},
                            .jobs = static_cast<std::uint64_t>(options.jobs),
                            .repeat = static_cast<std::uint64_t>(options.repeat),
                            .compares_numbers = !options.compare.empty(),
                            .narrows_calls = options.narrows_calls};
    GroupList groups;
    rank_groups_by_audits(options, options.types(), groups);
    LoweredSetRunner sets(settings, trials, groups);
    SetTester tester(settings, sets, groups);
    check_exact_run(tester.test_everything_exact(), trials.last_trial(), groups, settings.policy.types);
    if (trials.previews_on_cpu()) settings.policy.cpu = preview_mode;
    if (tester.test_everything_lowered().lowered.empty())
        throw nothing_lowered_error(trials.last_trial().products, options.precision);
    SearchConclusion findings = find_culprits(settings, tester, groups);
    check_dependence(tester, sets, findings);
    return write_policy_and_result(options, {groups,
                                             SourceLineTexts(groups, now_ns()),
                                             tester,
                                             settings,
                                             options,
                                             std::move(findings),
                                             {},
                                             folder.changed_files(options.state),
                                             sets.caveats(),
                                             trials.reference().has_run_timestamps()});
}

int bisect(BisectOptions& options) {
    if (options.precision.empty())
        options.precision = options.types() == TriedTypes::float64 ? float64_precision : "high";
    if (const std::string problem = problem_in_options(options); !problem.empty())
        return usage_error(options.name, problem);
    TrialSettings settings;
    settings.runs.types = options.types();
    settings.compares_numbers = !options.compare.empty();
    settings.comparison = {OutputMetric::limits, -1, options.relative, options.absolute};
    settings.max_runs = static_cast<std::uint64_t>(options.max_runs);
    return run_search(options, std::move(settings),
                      {{"dtype", to_string(options.types())},
                       {"precision", options.precision},
                       {"rtol", options.relative},
                       {"atol", options.absolute}},
                      [&options](TrialRunner& trials) { return search(options, trials); });
}

}  // namespace

Action define_bisect(CLI::App& app) {
    auto options = std::make_shared<BisectOptions>();
    options->name = "bisect";
    options->repeat = 1;
    add_choice(app, "--dtype", options->dtype, {to_string(TriedTypes::float32), to_string(TriedTypes::float64)},
               "Type of the operands of the products that are tried, real and complex (default: float32)");
    add_choice(
        app, "--precision", options->precision, {"high", "medium", "tf32", "bf16", float64_precision, "sgemm"},
        "Precision at which products are tried; tf32 means high, bf16 means medium (default: high; with --dtype "
        "float64: fp32)");
    add_count(app, "--max-runs", options->max_runs, 1,
              "Stop after this many runs; a higher number continues the search");
    add_count(app, "--repeat", options->repeat, 1,
              "Number of runs with everything exact, from which the rate of random failures is estimated (20 is "
              "reasonable); each set then runs until a sequential test decides. With 1, the default, one run decides "
              "until equal runs differ");
    add_name(
        app, "--compare", options->compare, "FILE",
        "Accept a run if the numbers that it writes to this file (text or .npy) are close to those of the exact run");
    add_number(app, "--rtol", options->relative, "Largest relative difference from the exact run's number");
    add_number(app, "--atol", options->absolute, "Largest absolute difference, added to the relative one");
    app.add_flag("--calls", options->narrows_calls,
                 "Also find which calls of a product, by number, are enough to make the command fail");
    add_search_options(app, *options);
    return [options] { return bisect(*options); };
}

}  // namespace fp32shim::cli
