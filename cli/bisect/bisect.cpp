// fp32shim bisect: finds products with which exact a command is acceptable, by running it under policies that lower
// some of its products.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>

#include "cli/bisect/answers.hpp"
#include "cli/bisect/command_trials.hpp"
#include "cli/bisect/inputs.hpp"
#include "cli/bisect/result.hpp"
#include "cli/bisect/search.hpp"
#include "cli/bisect/state.hpp"
#include "cli/command_line/commands.hpp"
#include "cli/command_line/options.hpp"
#include "cli/output/json.hpp"
#include "cli/output/terminal.hpp"
#include "cli/run/child.hpp"
#include "cli/run/process_environment.hpp"
#include "cli/trials/assumptions.hpp"
#include "cli/trials/command.hpp"
#include "cli/trials/runs.hpp"
#include "policy/messages.hpp"
#include "policy/sha256.hpp"

namespace fp32shim::cli {
namespace {

/// The precision at which products of float64 are tried by default.
constexpr std::string_view float64_precision = "fp32";

struct BisectOptions {
    std::string dtype, precision, cpu, state = "bisect-state.jsonl", policy_out, runner, compare;
    bool is_json = false;
    std::int64_t jobs = 1, max_runs = 0, repeat = 1;
    double relative = 0, absolute = 0;
    bool narrows_calls = false;
    std::vector<std::string> words;  ///< the command to run
};

TriedTypes types_of(const BisectOptions& options) {
    return options.dtype == to_string(TriedTypes::float64) ? TriedTypes::float64 : TriedTypes::float32;
}

void print_message(const std::string& message) { say("bisect", message); }

/// Returns what is wrong with the combination of options and settings; empty if it is valid.
std::string problem_in_options(const BisectOptions& options) {
    if (types_of(options) != TriedTypes::float64)
        if (const std::string problem = problem_in_float32_precision(options.precision); !problem.empty())
            return problem;
    if (!options.compare.empty() && options.relative == 0 && options.absolute == 0)
        return "--compare needs --rtol NUMBER or --atol NUMBER, the largest acceptable difference";
    if (options.compare.empty() && (options.relative != 0 || options.absolute != 0))
        return "--rtol and --atol need --compare FILE, the file with the numbers";
    if (!options.compare.empty() && options.jobs > 1)
        return "--jobs and --compare cannot be combined, because all runs write the same file";
    if (std::string problem = problem_with_new_file("--policy-out", options.policy_out); !problem.empty())
        return problem;
    return problem_with_settings("bisect");
}

/// Returns all facts on which the outcomes of a search depend.
Json identity_of(const BisectOptions& options) {
    return {{"search", 4},
            {"fp32shim", FP32SHIM_VERSION},
            {"command", options.words},
            {"dtype", to_string(types_of(options))},
            {"precision", options.precision},
            {"cpu", options.cpu},
            {"runner", options.runner},
            {"repeat", options.repeat},
            {"compare", options.compare},
            {"rtol", options.relative},
            {"atol", options.absolute}};
}

/// Returns an end if the command is not acceptable even with everything exact, or has no products.
std::optional<End> problem_with_exact_run(const Outcome& exact, const FinishedRun& run, const Groups& groups,
                                          TriedTypes types) {
    const std::string with = "with everything exact, the command ";
    if (exact.verdict != Verdict::acceptable) {
        print(last_lines_of(run.output), STDERR_FILENO);
        if (exact.verdict == Verdict::unresolved)
            return End{with + "is undecided (status 125), so there is nothing to compare with",
                       exit_code::inconclusive};
        if (exact.is_flaky)
            return End{fmt::format("{}failed in {} of {} runs ({}): by chance, and too often for a search", with,
                                   exact.failures, exact.runs, exact.how),
                       exit_code::inconclusive};
        if (run.ended.signal != 0) return End{with + exact.how, exit_code::was_killed};
        return End{
            with + "is not acceptable (" + exact.how + "); it must be acceptable before its products are lowered",
            exit_code::finding};
    }
    if (groups.all().empty()) return no_product_seen(run.products, types);
    return std::nullopt;
}

/// Writes the policy. Returns an end if this fails.
std::optional<End> write_policy(const BisectOptions& options, SearchResult& result) {
    const NewFile file = write_new_file(options.policy_out, "bisect-policy", ".toml", policy_of(result));
    result.policy_path = file.path;
    if (file.error == 0) return std::nullopt;
    return End{fmt::format("{} cannot be written ({}); repeat the command to continue from {}",
                           policy::quoted_path(file.path), std::strerror(file.error), options.state),
               exit_code::usage};
}

SearchSettings settings_of(const BisectOptions& options) {
    SearchSettings settings;
    settings.policy = {options.precision, options.cpu, "bisect", types_of(options)};
    settings.jobs = static_cast<std::uint64_t>(options.jobs);
    settings.repeat = static_cast<std::uint64_t>(options.repeat);
    settings.max_runs = static_cast<std::uint64_t>(options.max_runs);
    settings.compared_file = options.compare;
    settings.relative = options.relative;
    settings.absolute = options.absolute;
    settings.narrows_calls = options.narrows_calls;
    settings.may_preview = is_cpu_mode_open(options.cpu);
    return settings;
}

int fail(const End& end) {
    print_message(end.message);
    return end.exit_code;
}

/// Says that the result is not certain, and how to go on.
void print_doubt(const Findings& findings, const Answers& answers) {
    const bool is_chance = answers.expects_random_failures() && !findings.is_chance_excluded &&
                           std::ranges::none_of(findings.culprits, &Culprit::is_untried);
    print_message(fmt::format("not certain: {}{}", findings.doubt,
                              is_chance ? "; a larger --repeat estimates the rate of random failures better" : ""));
}

/// Writes the policy, if a run has shown that it is enough, and prints the result.
int conclude(const BisectOptions& options, const SearchSettings& settings, const Groups& groups,
             const Answers& answers, const CommandTrials& trials, Findings findings, const WorkingFolder& folder) {
    const SearchState& state = answers.state();
    const bool is_doubtful = !findings.doubt.empty();
    if (is_doubtful && findings.culprits.empty()) {
        state.remove_file();
        print_doubt(findings, answers);
        return exit_code::inconclusive;
    }
    SearchResult result{groups,
                        state,
                        settings,
                        options.words,
                        std::move(findings),
                        answers.rates(),
                        {},
                        folder.changed(options.state),
                        trials.caveats(),
                        trials.leaves_out_clock()};
    const Outcome* const shown = state.find(Lowered::all_but, exact_groups(result.findings.culprits));
    const bool is_enough = shown != nullptr && shown->verdict == Verdict::acceptable;
    if (is_enough && !result.findings.culprits.empty())
        if (const auto end = write_policy(options, result)) return fail(*end);
    print(options.is_json ? json_text(to_json(result)) : text_of(result));
    state.remove_file();
    if (!is_doubtful) return exit_code::ok;
    print_doubt(result.findings, answers);
    return exit_code::inconclusive;
}

/// Asks whether the answer of the command depends on products of these runs: if everything may be lowered, by a run
/// at the coarsest precision; otherwise by the outputs of the runs so far.
void check_dependence(const SearchSettings& settings, const Answers& answers, CommandTrials& trials,
                      Findings& findings) {
    if (!findings.doubt.empty()) return;
    const SearchState& state = answers.state();
    const Outcome& exact = *state.find(Lowered::only, {});
    const Outcome* const lowered = state.find(Lowered::all_but, exact_groups(findings.culprits));
    if (lowered == nullptr) return;
    const bool is_silent = exact.output == policy::Sha256().finish();
    const bool is_equal = !exact.output.empty() && lowered->output == exact.output;
    if (is_equal && !is_silent) findings.dependence = unchanged_output_text;
    if (!findings.culprits.empty() || !exact.was_on_cpu) return;
    if (settings.max_runs != 0 && state.runs() >= settings.max_runs) throw OutOfRuns();
    const std::optional<TrialRun> coarsest = trials.run_coarsest(lowered->lowered);
    if (!coarsest) return;
    const bool is_acceptable = coarsest->verdict == Verdict::acceptable;
    if (is_acceptable && is_equal && coarsest->output == exact.output)
        findings.doubt = independence_text(true);
    else if (is_acceptable && !is_equal)
        findings.dependence = fmt::format(
            "It was acceptable at {}, too: its answer may not depend on these products.\n", coarsest_precision);
    else if (!answers.expects_random_failures() && (is_equal || !is_acceptable))
        findings.dependence = dependence_text(is_acceptable ? "changed" : "was not acceptable", is_equal);
}

/// Searches, and prints the result. The state is removed if the search has come to an end.
int search(const BisectOptions& options, Inputs& inputs, Runs& runs, Groups& groups, SearchState& state) {
    const WorkingFolder folder;
    SearchSettings settings = settings_of(options);
    CommandTrials trials(settings, runs, groups, state.runs());
    Answers answers(settings, trials, state);
    if (const Outcome* known = state.find(Lowered::only, {}); settings.may_preview && known && known->was_on_cpu)
        say_preview("bisect");
    const auto ends = [&state](const End& end) {
        state.remove_file();
        return fail(end);
    };
    if (state.runs() > 0 && !options.compare.empty())
        if (const std::string problem = trials.make_reference(); !problem.empty())
            return fail({fmt::format("with everything exact, the command is no longer acceptable ({})", problem),
                         exit_code::inconclusive});
    const Outcome exact = answers.with_everything_exact();
    inputs.keep(groups, state);
    if (const auto end = problem_with_exact_run(exact, trials.last_run(), groups, settings.policy.types))
        return ends(*end);
    if (settings.may_preview && exact.was_on_cpu) settings.policy.cpu = preview_mode;
    const Outcome all = answers.with_everything_lowered();
    inputs.keep(groups, state);
    if (all.lowered.empty()) return ends(nothing_lowered(trials.last_run().products, options.precision));
    trials.plan_runs(all);
    Findings findings = Search(settings, answers, groups).find();
    check_dependence(settings, answers, trials, findings);
    return conclude(options, settings, groups, answers, trials, std::move(findings), folder);
}

int bisect(BisectOptions options) {
    if (options.precision.empty())
        options.precision = types_of(options) == TriedTypes::float64 ? float64_precision : "high";
    if (const std::string problem = problem_in_options(options); !problem.empty())
        return fail({problem, exit_code::usage});
    const TrialProgram program = find_trial_program("bisect", options.words, options.runner);
    if (program.end) return fail(*program.end);
    Groups groups;
    SearchState state(options.state, identity_of(options), groups);
    if (!state.problem().empty()) return fail({state.problem(), exit_code::usage});
    if (const std::string changed = Inputs::changed_file(state); !changed.empty())
        return fail({fmt::format("{} has changed since the runs whose answers are in {}; remove that file to start "
                                 "again, or restore the other",
                                 policy::quoted_path(changed), policy::quoted_path(options.state)),
                     exit_code::usage});
    if (state.runs() > 0)
        print_message(fmt::format("continuing from {} with the answers of {}; remove the file to start again",
                                  policy::quoted_path(options.state), counted(state.runs(), "run")));
    say_unread_input("bisect");
    int signal = 0;
    try {
        Inputs inputs(program.path, options.words);
        Runs runs({options.words, list_entries(options.runner, " "), options.cpu, types_of(options)});
        if (!runs.problem().empty()) return fail({runs.problem(), exit_code::usage});
        return search(options, inputs, runs, groups, state);
    } catch (const Interrupted& interrupted) {
        signal = interrupted.signal;
    } catch (const OutOfRuns&) {
        return fail({fmt::format("no result after {}, the limit of --max-runs; repeat the command with a higher "
                                 "limit to continue from {}",
                                 counted(state.runs(), "run"), policy::quoted_path(options.state)),
                     exit_code::inconclusive});
    } catch (const SearchFailed& failure) {
        state.remove_file();
        return fail({failure.why, exit_code::inconclusive});
    }
    print_message(fmt::format("interrupted after {}; repeat the command to continue from {}",
                              counted(state.runs(), "run"), policy::quoted_path(options.state)));
    end_by_signal(signal);
}

}  // namespace

Action define_bisect(CLI::App& app) {
    auto options = std::make_shared<BisectOptions>();
    add_choice(app, "--dtype", options->dtype, {to_string(TriedTypes::float32), to_string(TriedTypes::float64)},
               "Type of the operands of the products that are tried, real and complex (default: float32)");
    add_choice(
        app, "--precision", options->precision, {"high", "medium", "tf32", "bf16", float64_precision, "sgemm"},
        "Precision at which products are tried; tf32 means high, bf16 means medium (default: high; with --dtype "
        "float64: fp32)");
    add_word(
        app, "--cpu", options->cpu, policy::cpu_mode_words,
        "Effect of lower precisions on the CPU (FP32_MATMUL_CPU; for programs that multiply on a CPU only: emulate)");
    add_count(app, "--jobs", options->jobs, 1, "Number of runs at once, for commands that do not disturb each other");
    add_count(app, "--max-runs", options->max_runs, 1,
              "Stop after this many runs; a higher number continues the search");
    add_count(app, "--repeat", options->repeat, 1,
              "Number of runs with everything exact, from which the rate of random failures is estimated (20 is "
              "reasonable); each set then runs until a sequential test decides. With 1, the default, one run decides "
              "until equal runs differ");
    add_name(app, "--state", options->state, "FILE",
             "File of the answers so far, from which an interrupted search continues; removed at the end (default: "
             "bisect-state.jsonl)");
    add_name(app, "--policy-out", options->policy_out, "FILE",
             "File for the policy; must be new (default: bisect-policy.toml, with a number if that exists)");
    add_name(app, "--runner", options->runner, "WORDS",
             "Words to put before each run's command line, such as 'srun -n1'");
    add_name(
        app, "--compare", options->compare, "FILE",
        "Accept a run if the numbers that it writes to this file (text or .npy) are close to those of the exact run");
    add_number(app, "--rtol", options->relative, "Largest relative difference from the exact run's number");
    add_number(app, "--atol", options->absolute, "Largest absolute difference, added to the relative one");
    app.add_flag("--calls", options->narrows_calls,
                 "Also find which calls of a product, by number, are enough to make the command fail");
    add_table_or_json(app, options->is_json);
    app.add_option("PROGRAM", options->words, "The command to run and its arguments")->required();
    return [options] { return bisect(*options); };
}

}  // namespace fp32shim::cli
