// Implements `fp32shim sensitivity`, which measures how much the output of a command changes if only the products of
// one place in the program, such as a source line or a scope, run below FP32.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <optional>
#include <utility>

#include "cli/command_line/commands.hpp"
#include "cli/command_line/options.hpp"
#include "cli/files/own_files.hpp"
#include "cli/output/json.hpp"
#include "cli/output/moment.hpp"
#include "cli/output/terminal.hpp"
#include "cli/sensitivity/cheapest_policy.hpp"
#include "cli/sensitivity/digits.hpp"
#include "cli/sensitivity/result.hpp"
#include "cli/sensitivity/runner.hpp"
#include "cli/trials/assumptions.hpp"
#include "cli/trials/search_command.hpp"
#include "policy/load.hpp"
#include "policy/messages.hpp"
#include "policy/words.hpp"

namespace fp32shim::cli {
namespace {

struct SensitivityOptions : SearchOptions {
    std::vector<std::string> precisions{};
    std::string policy{}, metric = "number", by = "where";
    std::int64_t most = 20, perturb = 0;
    double tolerance = -1;  ///< largest acceptable error; -1 if none was given
};

/// Returns the names of all precisions that stand for another format than FP32.
std::vector<std::string_view> lower_precisions() {
    std::vector<std::string_view> words;
    for (const auto& [word, precision] : policy::precision_words)
        if (const auto format = policy::format_of(precision); format && *format != policy::AppliedFormat::fp32)
            words.push_back(word);
    return words;
}

/// Returns the first error in a policy file, or an empty text if there is none.
std::string problem_with_policy(const std::string& path) {
    if (path.empty()) return {};
    const policy::LoadedPolicy file = policy::read_policy_file(path);
    return file.errors.empty() ? std::string() : file.errors.front().text();
}

/// Returns the first of `precisions` that splits operands into parts and so cannot round them at random. Returns an
/// empty text if there is none.
std::string precision_of_parts(const std::vector<std::string>& precisions) {
    std::vector<policy::AppliedFormat> of_parts;
#define PREVIEW(format, rounding, products) \
    if ((products) > 1) of_parts.push_back(policy::AppliedFormat::format);
#include "policy/formats.def"
    for (const std::string& word : precisions) {
        const auto format = policy::format_of(*policy::parse_precision(word));
        if (format && std::ranges::find(of_parts, *format) != of_parts.end()) return word;
    }
    return {};
}

std::string problem_in_options(const SensitivityOptions& options) {
    if (!options.policy.empty() && !options.policy_out.empty())
        return "--policy measures a policy, and --policy-out writes one; give only one of them";
    if (options.perturb > 0 && (!options.policy.empty() || options.tolerance >= 0))
        return "--perturb measures digits, and cannot be combined with --policy or --tolerance";
    if (const std::string word = precision_of_parts(options.precisions); options.perturb > 0 && !word.empty())
        return fmt::format(
            "--perturb: {} splits its operands into parts, which are not rounded at random; allowed are "
            "precisions of one part, such as tf32",
            word);
    if (!options.policy_out.empty() && options.tolerance < 0)
        return "--policy-out needs --tolerance NUMBER, the largest output error that is accepted";
    return problem_with_policy(options.policy);
}

/// One sensitivity analysis, which makes the runs of a command and draws the conclusion from them.
class SensitivityAnalysis {
  public:
    SensitivityAnalysis(const SensitivityOptions& options, TrialRunner& trials)
        : options_(options), trials_(trials), runner_(trials) {
        rank_groups_by_audits(options, TriedTypes::float32, groups_);
        measured_.precisions = options.precisions;
        if (measured_.precisions.empty()) measured_.precisions = {options.perturb > 0 ? "fp32_perturbed" : "high"};
    }

    /// Makes all runs. Throws SearchAborted if the analysis cannot be finished.
    void run() {
        run_exact();
        if (options_.perturb > 0)
            run_perturbed();
        else if (options_.policy.empty())
            run_places();
        else
            run_given_policy();
    }

    /// Finds a policy if the user wants one, and prints the results. Returns the exit code.
    int find_policy_and_print() {
        const SourceLineTexts texts(groups_, now_ns());
        SensitivityResult result{groups_, texts, runner_, measured_, options_, options_.metric, source()};
        result.measured_policy = options_.policy;
        result.tolerance = options_.tolerance;
        result.untried = untried_;
        result.dependence = dependence_;
        result.left_files = folder_.changed_files(options_.state);
        if (options_.perturb > 0) {
            print(options_.is_json ? json_text(digits_json(digits_, result)) : wrapped(digits_text(digits_, result)));
            return exit_code::ok;
        }
        const bool judges_policy = !options_.policy.empty() && options_.tolerance >= 0;
        if (options_.tolerance >= 0 && !judges_policy) find_policy(texts, result);
        print(options_.is_json ? json_text(to_json(result)) : wrapped(result_text(result)));
        if (judges_policy && untried_.empty())
            return measured_.all_lowered.front().error <= options_.tolerance ? exit_code::ok : exit_code::finding;
        const bool is_answered = !judges_policy && (!result.policy || result.policy->is_found);
        return is_answered ? exit_code::ok : exit_code::inconclusive;
    }

  private:
    void run_exact() {
        constexpr std::uint64_t fewest = 5;
        const RunRequest exact = exact_request();
        const bool is_given = options_.repeat > 0;
        const RecordedProducts& products =
            runner_.make_exact_runs(exact, is_given ? static_cast<std::uint64_t>(options_.repeat) : fewest);
        for (const RecordedProducts::RecordedGroup& met : products.groups) groups_.find_or_add(met.group);
        if (groups_.all().empty()) throw no_product_seen_error(products, TriedTypes::float32);
        measured_.places = divide_into_places(groups_, options_.by, static_cast<std::size_t>(options_.most));
        if (!is_given && runner_.exact_run_noise() > 0 && options_.policy.empty())
            runner_.make_exact_runs(exact, measured_.places.size());
        runner_.expect_measurements(error_count());
        note_untried();
        check_chance();
    }

    void check_chance() const {
        if (options_.tolerance >= 0 && runner_.largest_chance_error() > options_.tolerance) throw beyond_tolerance();
    }

    /// Makes runs in which as much as possible is lowered. If the only numbers that change are numbers that do not
    /// count because exact runs differ in them, all numbers count from then on, and the runs are judged again.
    std::vector<MeasuredRun> measure_everything(const std::vector<PlannedRun>& planned) {
        std::vector<MeasuredRun> results = measure(planned);
        const bool has_changed = std::ranges::any_of(results, [](const MeasuredRun& run) { return run.error != 0; });
        const bool was_lowered = std::ranges::any_of(results, &MeasuredRun::was_lowered);
        if (has_changed || !was_lowered || runner_.reference().rows_left_out().empty()) return results;
        runner_.include_all_numbers();
        check_chance();
        return measure(planned);
    }

    std::vector<MeasuredRun> measure(const std::vector<PlannedRun>& planned) {
        return runner_.measure_runs(planned, static_cast<std::uint64_t>(options_.jobs));
    }

    RunRequest exact_request() const { return request_with_only({}, measured_.precisions.front()); }

    SearchAborted beyond_tolerance() const {
        std::string why = ", and two of them are too few to tell an error from chance";
        if (std::isfinite(runner_.largest_chance_error()))
            why = fmt::format(", and an error up to {:.2g} is not told apart from chance",
                              runner_.largest_chance_error());
        else if (!std::isfinite(runner_.exact_run_noise()))
            why.clear();
        return {fmt::format("equal exact runs differ by up to {:.2g}{}, so nothing can be said about a tolerance of "
                            "{:.2g}",
                            runner_.exact_run_noise(), why, options_.tolerance),
                exit_code::inconclusive};
    }

    /// Returns the number of output errors that are to be measured.
    std::uint64_t error_count() const {
        const std::size_t places = measured_.places.size(), precisions = measured_.precisions.size();
        if (!options_.policy.empty()) return 1;
        if (options_.perturb > 0) return precisions * (1 + places) * static_cast<std::uint64_t>(options_.perturb);
        return precisions * (1 + 2 * places);
    }

    void note_untried() {
        for (ProgramPlace& place : measured_.places) {
            place.is_untried = std::ranges::any_of(
                place.groups, [this](std::size_t group) { return runner_.made_fewer_calls_later(groups_[group]); });
            if (place.is_untried) untried_.push_back(place.text);
        }
    }

    void run_given_policy() {
        measured_.all_lowered = measure_everything({{given_policy(), "under the policy"}});
        runner_.check_by_exact_run(exact_request());
        const MeasuredRun& measured = measured_.all_lowered.front();
        if (measured.exceeds_chance())
            runner_.confirm_by_second_run(measured);
        else
            check_dependence();
    }

    /// Runs the command with only `groups` lowered, to the coarsest precision. Returns nullopt if no group can run at
    /// that precision.
    std::optional<MeasuredRun> run_coarsest(const Subset& groups) {
        if (groups.empty() || !trials_.is_on_cpu()) return std::nullopt;
        const std::string coarsest(coarsest_precision);
        const PlannedRun planned{request_with_only(groups, coarsest),
                                 "the places that moved nothing, asked for " + coarsest};
        MeasuredRun run = measure({planned}).front();
        const auto ran_at_coarsest_precision = [&coarsest](const auto& group) {
            return group.second.contains(coarsest);
        };
        return std::ranges::any_of(run.formats, ran_at_coarsest_precision) ? std::optional(std::move(run))
                                                                           : std::nullopt;
    }

    /// Runs the command at the coarsest precision with those places lowered that caused no change when lowered alone.
    /// If the output does not depend on them even then, sets `dependence_` to a sentence that names these places.
    void check_unmoved_places() {
        Subset groups;
        std::vector<std::string> names;
        for (std::size_t place = 0; place < measured_.places.size(); ++place) {
            const auto moved = [](const PlaceErrors& errors) {
                return errors.alone.exceeds_chance() || !errors.alone.was_lowered;
            };
            if (std::ranges::any_of(measured_.errors[place], moved)) continue;
            groups = union_of(groups, measured_.places[place].groups);
            names.push_back(measured_.places[place].text);
        }
        if (const std::optional<MeasuredRun> run = run_coarsest(groups); run && !run->exceeds_chance())
            dependence_ =
                fmt::format("Nothing shows that the output depends on {}: even at {} it did not change{}.\n",
                            listed(names, 5), coarsest_precision, run->error == 0 ? "" : " by more than chance");
    }

    /// Checks whether the output, which no run has changed, depends on the products at all.
    void check_dependence() {
        Subset lowered;
        for (std::size_t group = 0; group < groups_.all().size(); ++group)
            if (std::ranges::any_of(measured_.all_lowered,
                                    [&](const MeasuredRun& run) { return was_lowered_in(run, groups_[group]); }))
                lowered.push_back(group);
        if (lowered.empty()) return;
        const bool is_equal =
            std::ranges::all_of(measured_.all_lowered, [](const MeasuredRun& run) { return run.error == 0; });
        if (is_equal) dependence_ = unchanged_output_text;
        const std::optional<MeasuredRun> coarsest = run_coarsest(lowered);
        if (!coarsest) return;
        const MeasuredRun& run = *coarsest;
        if (run.exceeds_chance()) {
            try {  // a further exact run shows whether a number merely grows from run to run
                if (runner_.exact_run_noise() > 0) runner_.check_by_exact_run(exact_request(), "after all others");
            } catch (const SearchAborted&) {
                dependence_ =
                    "Nothing shows that the output depends on the lowered products: it differs between exact runs.\n";
                return;
            }
            dependence_ = proven_dependence_text(
                run.problem.empty() ? fmt::format("changed by {:.2g}", run.error) : "did not come: " + run.problem,
                is_equal);
            return;
        }
        if (options_.tolerance >= 0)
            throw SearchAborted{unproven_dependence_text(is_equal && run.error == 0), exit_code::inconclusive};
        dependence_ = fmt::format("Not certain: {}.\n", unproven_dependence_text(is_equal && run.error == 0));
    }

    RunRequest given_policy() const {
        RunRequest request{read_regular_file(options_.policy).text, ""};
        const bool has_mode = policy::read_policy_file(options_.policy).policy.cpu_mode != policy::CpuMode::off;
        if (trials_.previews_on_cpu() && !has_mode) request.cpu = preview_mode;
        return request;
    }

    void run_perturbed() {
        for (const std::string& precision : measured_.precisions) {
            const std::vector<PlannedRun> everything = perturbed_runs(nullptr, precision);
            if (!measure({everything.front()}).front().was_lowered)
                throw nothing_lowered_error(trials_.last_trial().products, precision);
            digits_.push_back({nullptr, precision, estimate_significant_digits(measure_everything(everything))});
            runner_.check_by_exact_run(exact_request());
            for (const ProgramPlace& place : measured_.places)
                if (!place.is_untried)
                    digits_.push_back(
                        {&place, precision, estimate_significant_digits(measure(perturbed_runs(&place, precision)))});
        }
    }

    /// Returns one run for each seed, with the place perturbed or, if `place` is null, with everything perturbed.
    std::vector<PlannedRun> perturbed_runs(const ProgramPlace* place, const std::string& precision) const {
        std::vector<PlannedRun> planned;
        for (std::int64_t i = 1; i <= options_.perturb; ++i) {
            PolicySettings seeded = settings(precision);
            seeded.seed = static_cast<std::uint64_t>(i);
            const std::string text = fmt::format(
                "{} at {}, seed {}", place == nullptr ? "everything" : "only " + place->text, precision, i);
            planned.push_back({place == nullptr ? request_lowering_all_but(groups_, {}, seeded)
                                                : request_lowering_only(groups_, place->groups, seeded),
                               text});
        }
        return planned;
    }

    void run_places() {
        std::vector<PlannedRun> planned;
        for (const std::string& precision : measured_.precisions)
            planned.push_back({request_with_all_but({}, precision), "everything at " + precision});
        measured_.all_lowered = measure_everything(planned);
        if (std::ranges::none_of(measured_.all_lowered, &MeasuredRun::was_lowered))
            throw nothing_lowered_error(trials_.last_trial().products, measured_.precisions.back());
        runner_.check_by_exact_run(exact_request());
        measure_places();
    }

    PolicySettings settings(const std::string& precision) const {
        return {precision, trials_.previews_on_cpu() ? std::string(preview_mode) : options_.cpu, options_.name};
    }

    RunRequest request_with_only(const Subset& lowered, const std::string& precision) const {
        return request_lowering_only(groups_, lowered, settings(precision));
    }

    RunRequest request_with_all_but(const Subset& exact, const std::string& precision) const {
        return request_lowering_all_but(groups_, exact, settings(precision));
    }

    void measure_places() {
        std::vector<PlannedRun> planned;
        for (const ProgramPlace& place : measured_.places)
            for (const std::string& precision : measured_.precisions) {
                if (!place.is_untried)
                    planned.push_back({request_with_only(place.groups, precision),
                                       fmt::format("only {} at {}", place.text, precision)});
                planned.push_back({request_with_all_but(place.groups, precision),
                                   fmt::format("all but {} at {}", place.text, precision)});
            }
        const std::vector<MeasuredRun> results = measure(planned);
        auto next = results.begin();
        for (const ProgramPlace& place : measured_.places) {
            measured_.errors.emplace_back();
            for (std::size_t at = 0; at < measured_.precisions.size(); ++at) {
                PlaceErrors errors{{{std::numeric_limits<double>::infinity(), not_tried}}, {}};
                if (!place.is_untried) errors.alone = *next++;
                errors.kept_exact = *next++;
                measured_.errors.back().push_back(errors);
            }
        }
        confirm_largest();
        check_drift();
        if (has_moved())
            check_unmoved_places();
        else
            check_dependence();
    }

    /// Returns true if the output of some run with a place or all products lowered changed by more than chance
    /// explains.
    bool has_moved() const {
        const auto exceeds_chance = [](const PlaceErrors& errors) {
            return errors.alone.exceeds_chance() || errors.kept_exact.exceeds_chance();
        };
        return std::ranges::any_of(measured_.all_lowered, &MeasuredRun::exceeds_chance) ||
               std::ranges::any_of(measured_.errors, [&](const auto& of_place) {
                   return std::ranges::any_of(of_place, exceeds_chance);
               });
    }

    /// Among the runs with a single place lowered, repeats the one that changed the output most, so that no place is
    /// blamed for chance that the few exact runs have not shown. If none of them changed the output, repeats such a
    /// run among those with all products lowered, or all except those of one place. Repeats the run three times, but
    /// a single place's only once if lowering all products to the same precision has changed the output, too.
    void confirm_largest() {
        std::vector<std::pair<const MeasuredRun*, int>> alone_moved,
            others_moved;  // pairs of a run and how often it is to be repeated
        for (std::size_t at = 0; at < measured_.precisions.size(); ++at) {
            const MeasuredRun& everything = measured_.all_lowered[at];
            if (everything.exceeds_chance()) others_moved.emplace_back(&everything, 3);
            for (const std::vector<PlaceErrors>& of_place : measured_.errors) {
                const auto& [alone, kept_exact] = of_place[at];
                if (alone.exceeds_chance()) alone_moved.emplace_back(&alone, everything.exceeds_chance() ? 1 : 3);
                if (kept_exact.exceeds_chance()) others_moved.emplace_back(&kept_exact, 3);
            }
        }
        const auto& moved = alone_moved.empty() ? others_moved : alone_moved;
        const auto largest = std::ranges::max_element(moved, {}, [](const auto& run) { return run.first->error; });
        for (int i = 0; largest != moved.end() && i < largest->second; ++i)
            runner_.confirm_by_second_run(*largest->first);
    }

    /// Makes a last run with all products at FP32 if such runs differed or printed times. A number that grows with
    /// time moves again in this run, and so does a clock that stood still during short runs. So no place is blamed
    /// for their changes.
    void check_drift() {
        if (has_moved() && (runner_.exact_run_noise() > 0 || runner_.reference().has_other_timestamps()))
            runner_.check_by_exact_run(exact_request(), "after all others");
    }

    /// Finds a policy and writes its file. Throws SearchAborted if the file cannot be written.
    void find_policy(const SourceLineTexts& texts, SensitivityResult& result) {
        const PolicySettings cheapest = settings(measured_.precisions.back());
        result.settings = cheapest;
        result.policy = find_cheapest_policy(measured_, options_.tolerance, [&](const Levels& levels) {
            const auto exact = static_cast<std::size_t>(std::ranges::count(levels, std::size_t{0}));
            const std::string policy =
                policy_assigning(groups_, measured_.groups_by_precision(levels), cheapest, nullptr, &texts);
            return measure({{{policy, requested_precision(cheapest.precision)},
                             fmt::format("a policy with {} of {} exact", exact, counted(levels.size(), "place"))}})
                .front();
        });
        if (result.policy->is_found)
            result.found.write_file(options_, policy_comment(result), policy_text_of(result));
    }

    std::string source() const { return options_.compare.empty() ? "stdout" : policy::quoted_path(options_.compare); }

    const SensitivityOptions& options_;
    TrialRunner& trials_;
    SensitivityRunner runner_;
    const WorkingFolderSnapshot folder_;
    GroupList groups_;
    std::vector<std::string>
        untried_;  ///< places with a group that had fewer calls in each later exact run than in the first
    SensitivityMeasurements measured_;
    std::vector<PlaceDigits> digits_;  ///< empty without --perturb
    std::string dependence_;  ///< sentence on whether the output depends on products; empty if the runs have shown
                              ///< that it does
};

int examine(const SensitivityOptions& options) {
    if (const std::string problem = problem_in_options(options); !problem.empty())
        return usage_error(options.name, problem);
    TrialSettings settings;
    settings.compares_numbers = true;
    settings.comparison.metric = options.metric == "norm"   ? OutputMetric::norm
                                 : options.metric == "max"  ? OutputMetric::max
                                 : options.metric == "each" ? OutputMetric::each
                                                            : OutputMetric::number;
    settings.comparison.tolerance = options.tolerance;
    return run_search(options, std::move(settings),
                      {{"metric", options.metric}, {"policy", options.policy}, {"tolerance", options.tolerance}},
                      [&options](TrialRunner& trials) {
                          SensitivityAnalysis analysis(options, trials);
                          analysis.run();
                          return analysis.find_policy_and_print();
                      });
}

}  // namespace

Action define_sensitivity(CLI::App& app) {
    auto options = std::make_shared<SensitivityOptions>();
    options->name = "sensitivity";
    add_name(app, "--policy", options->policy, "FILE",
             "Measure the output error under this policy only, not that of single places");
    add_choices(app, "--precision", options->precisions, lower_precisions(),
                "Precisions at which places are tried, the dearest first (default: high)");
    add_name(app, "--compare", options->compare, "FILE",
             "File of numbers (text, .npy or .npz) that the command writes; without it, the numbers that it prints");
    add_choice(app, "--metric", options->metric, {"number", "norm", "max", "each"},
               "Measure of the output error: largest relative change of a printed number or of an array's norm "
               "(default), norm of all differences, largest difference, or largest relative change of any number, "
               "those of arrays too");
    add_number(app, "--tolerance", options->tolerance,
               "Largest output error that is accepted; a cheap policy within it is found, tried and written. With "
               "--policy, the exit code tells whether it is within");
    add_count(app, "--perturb", options->perturb, 5,
              "Measure significant digits instead: this many runs with everything perturbed at random, and as "
              "many for "
              "each place");
    add_choice(app, "--by", options->by, {"where", "scope", "size"},
               "What is a place: a line of the program, a scope, or a line at one size");
    add_count(app, "--most", options->most, 1, "Number of places; beyond it, those with the least work become one");
    add_count(
        app, "--repeat", options->repeat, 1,
        "Number of exact runs, whose differences tell errors from chance (default: 5; if they differ, as many as "
        "places)");
    add_search_options(app, *options);
    return [options] { return examine(*options); };
}

}  // namespace fp32shim::cli
