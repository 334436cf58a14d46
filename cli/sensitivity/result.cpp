#include "cli/sensitivity/result.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "cli/output/json.hpp"
#include "cli/output/terminal.hpp"
#include "cli/trials/assumptions.hpp"

namespace fp32shim::cli {
namespace {

double total_work(const SensitivityResult& result) {
    return std::accumulate(result.measured.places.begin(), result.measured.places.end(), 0.0,
                           [](double sum, const ProgramPlace& place) { return sum + place.work; });
}

/// Returns the error of a run, such as `4.5e-04`, `0` or `chance`, or the reason why there is no error, such as
/// `ended with status 1`.
std::string error_text(const MeasuredRun& measured) {
    if (!measured.problem.empty()) return measured.problem;
    if (!measured.was_lowered) return "not lowered";
    if (measured.error == 0) return "0";
    return measured.is_chance ? "chance" : fmt::format("{:.1e}", measured.error);
}

/// Returns true if chance explains both errors that were measured for one place at one precision.
bool is_all_chance(const PlaceErrors& errors) {
    if (errors.alone.was_lowered && errors.alone.exceeds_chance()) return false;
    return !errors.kept_exact.exceeds_chance() && (errors.alone.is_chance || errors.kept_exact.is_chance);
}

TextTable table_of(const SensitivityResult& result) {
    const SensitivityMeasurements& measured = result.measured;
    TextTable table({{.title = "place", .shrinks_to = 24},
                     {.title = "calls", .is_number = true},
                     {.title = "work", .is_number = true},
                     {.title = "at"},
                     {.title = "alone", .is_number = true},
                     {.title = "all but it", .is_number = true},
                     {.title = ""}});
    const double work = total_work(result);
    for (std::size_t at = 0; at < measured.precisions.size(); ++at)
        table.add({at == 0 ? "everything" : "", "", at == 0 ? work_share_text(work, work) : "",
                   measured.precisions[at], error_text(measured.all_lowered[at]), "", ""});
    for (std::size_t i = 0; i < measured.places.size(); ++i)
        for (std::size_t at = 0; at < measured.precisions.size(); ++at) {
            const ProgramPlace& place = measured.places[i];
            const PlaceErrors& errors = measured.errors[i][at];
            table.add({at == 0 ? place.text : "", at == 0 ? count_text(place.calls) : "",
                       at == 0 ? work_share_text(place.work, work) : "", measured.precisions[at],
                       error_text(errors.alone), error_text(errors.kept_exact),
                       is_all_chance(errors) ? "not told apart from chance" : ""});
        }
    return table;
}

/// Returns a table of the numbers that a run changed, the largest change first, or an empty text if it changed none.
std::string changes_text(const SensitivityResult& result) {
    const MeasuredRun& measured = result.measured.all_lowered.back();
    if (measured.most.empty()) return {};
    constexpr std::size_t most = 5;
    TextTable table(
        {{.title = result.measured_policy.empty() ? "changed with everything lowered" : "changed", .shrinks_to = 24},
         {.title = "exact", .is_number = true},
         {.title = result.measured_policy.empty() ? "at " + result.measured.precisions.back() : "under the policy",
          .is_number = true},
         {.title = "change", .is_number = true},
         {.title = "equal runs", .is_number = true}});
    std::size_t shown = 0, not_counted = 0;
    for (const ChangedRow& row : measured.most) {
        if (std::size_t& of_kind = row.counts ? shown : not_counted; of_kind++ >= most) continue;
        const bool is_array = !row.worst.empty();
        const auto value = [is_array](double number) { return is_array ? "" : fmt::format("{:.6g}", number); };
        table.add({row.name + (row.counts ? "" : ", not counted"), value(row.exact), value(row.found),
                   fmt::format("{:.1e}", row.change), row.noise == 0 ? "0" : fmt::format("{:.1e}", row.noise)});
    }
    std::string text = table.text();
    shown = std::min(shown, most) + std::min(not_counted, most);
    if (measured.changed > shown) text += fmt::format("and {} more\n", count_text(measured.changed - shown));
    return text + '\n';
}

bool is_clearly_above_noise(const ChangedRow& row) {
    constexpr double clearly = 3;
    return row.change > clearly * row.noise;
}

/// Returns a sentence about a large relative change that the metric (a norm or a maximum) hides, or an empty text.
std::string hidden_text(const SensitivityResult& result) {
    constexpr double far = 100;
    const MeasuredRun& measured = result.measured.all_lowered.back();
    // If rows are compared one by one, a change above the error is one that chance explains.
    const bool compares_by_row = result.runner.reference().compares_by_row();
    const ChangedRow* worst = nullptr;
    for (const ChangedRow& row : measured.most)
        if (row.counts && is_clearly_above_noise(row) && !(compares_by_row && row.change > measured.error) &&
            (worst == nullptr || row.worst_change > worst->worst_change))
            worst = &row;
    if (worst == nullptr || !std::isfinite(measured.error) || !(worst->worst_change > far * measured.error))
        return {};
    return fmt::format(
        "Relative to itself, {} changed by {:.1e}: small numbers hardly count beside large ones in a {}.\n",
        printable(worst->worst.empty() ? worst->name : worst->worst), worst->worst_change,
        result.metric == "max" ? "maximum" : "norm");
}

/// Returns a sentence about numbers that do not count, although they changed by much more than exact runs differ.
/// Returns an empty text if there are no such numbers.
std::string moved_text(const MeasuredRun& measured) {
    std::vector<std::string> names;
    for (const ChangedRow& row : measured.most)
        if (!row.counts && is_clearly_above_noise(row))
            names.push_back(
                fmt::format("{} by {:.1e} (exact runs: {:.1e})", printable(row.name), row.change, row.noise));
    if (names.empty()) return {};
    return fmt::format("Not counted in that, though changed more than between exact runs: {}.\n", listed(names, 5));
}

std::vector<std::size_t> exact_places(const CheapestPolicy& policy) {
    std::vector<std::size_t> exact;
    for (std::size_t place = 0; place < policy.levels.size(); ++place)
        if (policy.levels[place] == 0) exact.push_back(place);
    return exact;
}

std::string names_of(const std::vector<std::size_t>& places, const SensitivityResult& result) {
    std::vector<std::string> names;
    names.reserve(places.size());
    for (const std::size_t place : places) names.push_back(result.measured.places[place].text);
    return listed(names, 5);
}

/// Returns the share of the work that ran below FP32 under the policy. It may be less than planned, because the
/// policy does not override a precision that the program itself requests.
std::string lowered_work_share(const SensitivityResult& result) {
    double lowered = 0;
    for (const ProgramPlace& place : result.measured.places)
        for (const std::size_t group : place.groups)
            if (was_lowered_in(result.policy->measured, result.groups[group])) lowered += result.groups[group].work;
    return work_share_text(lowered, total_work(result));
}

/// Returns sentences about the variable FP32_MATMUL_FLOOR, and about places that did not run at the requested
/// precision in the runs with all products lowered.
std::string not_lowered_text(const SensitivityResult& result) {
    std::string text = floor_variable_text();
    for (std::size_t at = 0; at < result.measured.all_lowered.size(); ++at) {
        const MeasuredRun& run = result.measured.all_lowered[at];
        const std::string precision = result.measured_policy.empty() ? result.measured.precisions[at] : "";
        PlacesAtOtherPrecision found;
        const auto add = [](std::vector<std::string>& names, const std::string& name) {
            if (std::ranges::find(names, name) == names.end()) names.push_back(name);
        };
        for (const ProductGroup& group : result.groups.all()) {
            const auto formats = run.formats.find(group.full_text());
            if (formats == run.formats.end()) continue;
            if (!was_lowered_in(run, group))
                add(found.never, group.location_text());
            else if (!precision.empty())
                for (const std::string& format : formats_other_than(formats->second, precision))
                    add(found.other[format], group.location_text());
        }
        text += other_precision_text(found, precision);
    }
    return text;
}

/// Returns true if each place ran below FP32 at some precision in a run with only this place lowered.
bool has_tried_all(const SensitivityResult& result) {
    return std::ranges::all_of(result.measured.errors, [](const std::vector<PlaceErrors>& of_place) {
        return std::ranges::any_of(of_place, [](const PlaceErrors& errors) { return errors.alone.was_lowered; });
    });
}

std::string policy_sentence(const SensitivityResult& result) {
    if (!result.policy) return {};
    const CheapestPolicy& policy = *result.policy;
    if (!policy.is_found)
        return fmt::format("No policy within {:.2g} was found: {}.\n", result.tolerance,
                           policy.tried > 0        ? counted(policy.tried, "run") + " under policies went beyond it"
                           : has_tried_all(result) ? "each place alone was beyond it"
                                                   : "no place that ran below FP32 alone was within it");
    const std::vector<std::size_t> exact = exact_places(policy);
    std::string text =
        fmt::format("Within {:.2g}: {} of the work lowered{}, output error {:.2g} in a run.\n", result.tolerance,
                    lowered_work_share(result), exact.empty() ? "" : ", with " + names_of(exact, result) + " exact",
                    policy.measured.error) +
        moved_text(policy.measured);
    if (policy.refused > 0)
        text += fmt::format(
            "Lowering {} moved the output beyond the tolerance. Cheaper policies may exist.\n",
            policy.refused == 1 ? "one more place" : fmt::format("any one of {} places further", policy.refused));
    return text;
}

std::string evidence_of(const SensitivityResult& result) {
    const SensitivityRunner& runs = result.runner;
    const std::uint64_t earlier = runs.trials().earlier_run_count();
    const std::string known = earlier == 0 ? "" : fmt::format(", after {} earlier", earlier);
    return fmt::format("{}{}. {}\n{}Errors do not simply add up, and other inputs may give others.\n{}{}{}{}",
                       counted(runs.trials().run_count() - earlier, "run"), known, noise_sentence(runs),
                       result.dependence, other_libraries_text(runs.trials().first_products()),
                       untried_sentence(result.untried), not_lowered_text(result),
                       fresh_start_assumption(result.left_files));
}

std::string given_policy_text(const SensitivityResult& result) {
    const MeasuredRun& measured = result.measured.all_lowered.front();
    const SensitivityRunner& runs = result.runner;
    std::string text =
        fmt::format("Under {}: {}", printable(result.measured_policy),
                    measured.problem.empty() ? fmt::format("{:.2g}", measured.error) : measured.problem);
    if (!measured.was_lowered) text += "; no product ran below FP32";
    if (result.tolerance >= 0)
        text +=
            fmt::format(" ({} {:.2g})", measured.error <= result.tolerance ? "within" : "beyond", result.tolerance);
    return text + ".\n" + moved_text(measured) + noise_sentence(runs) + " Other inputs may differ.\n" +
           result.dependence + other_libraries_text(runs.trials().first_products()) +
           untried_sentence(result.untried) + not_lowered_text(result) + fresh_start_assumption(result.left_files);
}

Json to_json(const MeasuredRun& measured) {
    Json json = to_json(static_cast<const OutputDistance&>(measured));
    json["was_lowered"] = measured.was_lowered;
    return json;
}

std::string precision_at(const SensitivityResult& result, std::size_t level) {
    return level == 0 ? "highest" : result.measured.precisions[level - 1];
}

Json json_of_place(const SensitivityResult& result, std::size_t place) {
    const ProgramPlace& one = result.measured.places[place];
    const double work = total_work(result);
    Json json = {{"place", one.text},
                 {"calls", one.calls},
                 {"work_share", work == 0 ? Json() : Json(one.work / work)},
                 {"untried", one.is_untried}};
    const bool has_policy = result.policy && result.policy->is_found;
    const std::size_t level = has_policy ? result.policy->levels[place] : 0;
    const bool can_be_lowered = level == 0 || result.measured.is_lowered_at(place, level);
    json["chosen"] = has_policy && can_be_lowered ? Json(precision_at(result, level)) : Json();
    json["runs"] = Json::array();
    for (std::size_t at = 0; at < result.measured.precisions.size(); ++at) {
        const PlaceErrors& errors = result.measured.errors[place][at];
        json["runs"].push_back({{"precision", result.measured.precisions[at]},
                                {"alone", to_json(errors.alone)},
                                {"all_but_it", to_json(errors.kept_exact)}});
    }
    return json;
}

Json json_of_policy(const SensitivityResult& result) {
    if (!result.policy) return {};
    const CheapestPolicy& policy = *result.policy;
    return {{"found", policy.is_found},        {"tolerance", result.tolerance},
            {"tried", policy.tried},           {"refused", policy.refused},
            {"run", to_json(policy.measured)}, {"path", text_or_null(result.found.path)}};
}

}  // namespace

bool was_lowered_in(const MeasuredRun& run, const ProductGroup& group) {
    const auto formats = run.formats.find(group.full_text());
    return formats != run.formats.end() && std::ranges::any_of(formats->second, [](const std::string& format) {
               return format != to_string(policy::AppliedFormat::fp32) &&
                      format != to_string(policy::AppliedFormat::unchanged);
           });
}

std::string untried_sentence(const std::vector<std::string>& untried) {
    if (untried.empty()) return {};
    return fmt::format(
        "Not tried: {}.\n",
        untried_places_text(listed(untried, 3), "the exact runs after the first made fewer of these calls"));
}

std::string result_text(const SensitivityResult& result) {
    std::string text =
        fmt::format("Output error by {}, of {}, against the first exact run\n\n", result.metric,
                    counted(result.runner.reference().number_count(), "number") + " in " + result.source);
    if (!result.measured_policy.empty())
        return text + changes_text(result) + given_policy_text(result) + hidden_text(result);
    text += table_of(result).text() + '\n' + changes_text(result) + policy_sentence(result) + hidden_text(result) +
            evidence_of(result);
    if (!result.policy) text += "With --tolerance NUMBER, a policy is found and tried.\n";
    return text + result.found.usage_text(result.options, result.settings);
}

Json to_json(const SensitivityResult& result) {
    Json json = {{"schema", 1},
                 {"command", result.options.words},
                 {"metric", result.metric},
                 {"source", result.source},
                 {"measured_policy", text_or_null(result.measured_policy)},
                 {"numbers", result.runner.reference().number_count()},
                 {"noise", number_or_null(result.runner.exact_run_noise())},
                 {"chance", number_or_null(result.runner.largest_chance_error())},
                 {"untried", result.untried},
                 {"runs", result.runner.trials().run_count() - result.runner.trials().earlier_run_count()},
                 {"earlier_runs", result.runner.trials().earlier_run_count()}};
    json["clock_left_out"] = result.runner.reference().has_run_timestamps();
    json["not_counted"] = json_list(result.runner.reference().rows_left_out(), [](const ChangedRow& row) -> Json {
        return {{"number", row.name}, {"noise", number_or_null(row.noise)}};
    });
    json["everything"] = Json::array();
    for (std::size_t at = 0; at < result.measured.all_lowered.size(); ++at) {
        Json all = to_json(result.measured.all_lowered[at]);
        all["precision"] = result.measured_policy.empty() ? Json(result.measured.precisions[at]) : Json();
        json["everything"].push_back(std::move(all));
    }
    json["places"] = Json::array();
    for (std::size_t place = 0; place < result.measured.errors.size(); ++place)
        json["places"].push_back(json_of_place(result, place));
    json["policy"] = json_of_policy(result);
    return json;
}

std::string policy_comment(const SensitivityResult& result) {
    std::string comment;
    const std::string sentences = policy_sentence(result);
    for (std::size_t begin = 0; begin < sentences.size();) {
        const std::size_t end = sentences.find('\n', begin) + 1;
        comment += "# " + sentences.substr(begin, end - begin);
        begin = end;
    }
    return comment;
}

std::string policy_text_of(const SensitivityResult& result) {
    const auto comment_on = [&](const Subset& set) {
        return std::vector<std::string>{comment_on_line(result.groups[set.front()], result.texts)};
    };
    return policy_assigning(result.groups, result.measured.groups_by_precision(result.policy->levels),
                            result.settings, comment_on, &result.texts);
}

}  // namespace fp32shim::cli
