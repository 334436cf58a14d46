// fp32shim bisect: finds products to keep exact so that a command is acceptable, by running it under policies that
// lower some of its products.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "cli/bisect/answers.hpp"
#include "cli/bisect/command_sets.hpp"
#include "cli/bisect/result.hpp"
#include "cli/bisect/search.hpp"
#include "cli/command_line/commands.hpp"
#include "cli/command_line/options.hpp"
#include "cli/output/json.hpp"
#include "cli/output/moment.hpp"
#include "cli/output/terminal.hpp"
#include "cli/trials/assumptions.hpp"
#include "cli/trials/question.hpp"
#include "policy/sha256.hpp"

namespace fp32shim::cli {
namespace {

/// The precision at which products of float64 are tried by default.
constexpr std::string_view float64_precision = "fp32";

struct BisectOptions : QuestionOptions {
    std::string dtype{}, precision{};
    std::int64_t max_runs = 0;
    double relative = 0, absolute = 0;
    bool narrows_calls = false;

    TriedTypes types() const {
        return dtype == to_string(TriedTypes::float64) ? TriedTypes::float64 : TriedTypes::float32;
    }
};

/// Returns what is wrong with the combination of options; empty if it is valid.
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

/// Throws End if the command is not acceptable even with everything exact, or has no products.
void check_exact_run(const Outcome& exact, const Trial& run, const Groups& groups, TriedTypes types) {
    const std::string with = "with everything exact, the command ";
    if (exact.verdict == Verdict::acceptable) {
        if (groups.all().empty()) throw no_product_seen(run.products, types);
        return;
    }
    print(last_lines_of(run.output), STDERR_FILENO);
    if (exact.verdict == Verdict::unresolved)
        throw End{with + "is undecided (status 125), so there is nothing to compare with", exit_code::inconclusive};
    if (exact.is_flaky)
        throw End{fmt::format("{}failed in {} of {} runs ({}): by chance, and too often for a search", with,
                              exact.failures, exact.runs, exact.how),
                  exit_code::inconclusive};
    if (run.ended.signal != 0) throw End{with + exact.how, exit_code::was_killed};
    throw End{with + "is not acceptable (" + exact.how + "); it must be acceptable before its products are lowered",
              exit_code::finding};
}

/// Checks whether the answer of the command depends on its products: by the outputs of the runs so far and, if
/// everything may be lowered and ran on a CPU, by a run at the coarsest precision.
void check_dependence(const Answers& answers, CommandSets& sets, Findings& findings) {
    if (!findings.doubt.empty()) return;
    const Outcome& exact = *answers.find(Lowered::only, {});
    const Outcome* const lowered = answers.find(Lowered::all_but, exact_groups(findings.culprits));
    if (lowered == nullptr) return;
    const bool is_silent = exact.output == policy::Sha256().finish();
    const bool is_equal = !exact.output.empty() && lowered->output == exact.output;
    if (is_equal && !is_silent) findings.dependence = unchanged_output_text;
    if (!findings.culprits.empty() || !exact.was_on_cpu) return;
    const std::optional<SetRun> coarsest = sets.run_coarsest(lowered->lowered);
    if (!coarsest) return;
    const bool is_acceptable = coarsest->verdict == Verdict::acceptable;
    if (is_acceptable && is_equal && coarsest->output == exact.output)
        findings.doubt = independence_text(true);
    else if (is_acceptable && !is_equal)
        findings.dependence = fmt::format(
            "It was acceptable at {}, too. If the command checks nothing, give it a test that ends with status 1 "
            "when the result is bad, or name the result with --compare FILE --rtol NUMBER.\n",
            coarsest_precision);
    else if (!answers.expects_random_failures() && (is_equal || !is_acceptable))
        findings.dependence = dependence_text(is_acceptable ? "changed" : "was not acceptable", is_equal);
}

/// Writes the policy if a run under it was acceptable, and prints the result.
int write_policy_and_result(const BisectOptions& options, SearchResult result) {
    const Findings& findings = result.findings;
    const std::string& doubt = findings.doubt;
    if (doubt.empty() || !findings.culprits.empty()) {
        const Outcome* const shown = result.answers.find(Lowered::all_but, exact_groups(findings.culprits));
        const bool is_enough = shown != nullptr && shown->verdict == Verdict::acceptable;
        if (is_enough && !findings.culprits.empty())
            result.policy.write(options, policy_evidence(result), policy_of(result));
        print(options.is_json ? json_text(to_json(result)) : wrapped(text_of(result)));
    }
    if (doubt.empty()) return exit_code::ok;
    const bool is_chance = result.answers.expects_random_failures() && !findings.is_chance_excluded &&
                           std::ranges::none_of(findings.culprits, &Culprit::is_untried);
    throw End{fmt::format("not certain: {}{}", doubt,
                          is_chance ? "; a larger --repeat estimates the rate of random failures better" : ""),
              exit_code::inconclusive};
}

/// Searches, and prints the result.
int search(const BisectOptions& options, Trials& trials) {
    const WorkingFolder folder;
    SearchSettings settings{.policy = {options.precision, options.cpu, options.name, options.types()},
                            .jobs = static_cast<std::uint64_t>(options.jobs),
                            .repeat = static_cast<std::uint64_t>(options.repeat),
                            .compares_numbers = !options.compare.empty(),
                            .narrows_calls = options.narrows_calls};
    Groups groups;
    rank_by_audits(options, options.types(), groups);
    CommandSets sets(settings, trials, groups);
    Answers answers(settings, sets, groups);
    check_exact_run(answers.with_everything_exact(), trials.last(), groups, settings.policy.types);
    if (trials.previews_on_cpu()) settings.policy.cpu = preview_mode;
    if (answers.with_everything_lowered().lowered.empty())
        throw nothing_lowered(trials.last().products, options.precision);
    Findings findings = find_culprits(settings, answers, groups);
    check_dependence(answers, sets, findings);
    return write_policy_and_result(options, {groups,
                                             LineTexts(groups, now_ns()),
                                             answers,
                                             settings,
                                             options,
                                             std::move(findings),
                                             {},
                                             folder.changed_files(options.state),
                                             sets.caveats(),
                                             trials.reference().has_clock()});
}

int bisect(BisectOptions& options) {
    if (options.precision.empty())
        options.precision = options.types() == TriedTypes::float64 ? float64_precision : "high";
    if (const std::string problem = problem_in_options(options); !problem.empty()) {
        say(options.name, problem);
        return exit_code::usage;
    }
    TrialSettings settings;
    settings.runs.types = options.types();
    settings.compares_numbers = !options.compare.empty();
    settings.closeness = {OutputMetric::limits, -1, options.relative, options.absolute};
    settings.max_runs = static_cast<std::uint64_t>(options.max_runs);
    return ask_question(options, std::move(settings),
                        {{"dtype", to_string(options.types())},
                         {"precision", options.precision},
                         {"rtol", options.relative},
                         {"atol", options.absolute}},
                        [&options](Trials& trials) { return search(options, trials); });
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
    add_question_options(app, *options);
    return [options] { return bisect(*options); };
}

}  // namespace fp32shim::cli
