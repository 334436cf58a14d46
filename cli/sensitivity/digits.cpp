#include "cli/sensitivity/digits.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "cli/output/json.hpp"
#include "cli/output/terminal.hpp"
#include "cli/trials/assumptions.hpp"

namespace fp32shim::cli {
namespace {

constexpr double unlimited = std::numeric_limits<double>::infinity();

/// Returns a quantile of the chi-squared distribution with `freedom` degrees of freedom. `normal` is the same
/// quantile of the normal distribution. The approximation (Wilson and Hilferty, 1931) is right to a few percent from
/// 5 degrees on.
double chi_squared(double freedom, double normal) {
    const double variance = 2 / (9 * freedom);
    return freedom * std::pow(std::max(1 - variance + normal * std::sqrt(variance), 0.0), 3);
}

double digits_of_deviation(double deviation) {
    return deviation == 0 ? unlimited : std::max(-std::log10(deviation), 0.0);
}

std::string number_text(double digits) { return std::isfinite(digits) ? fmt::format("{:.1f}", digits) : "all"; }

std::string evidence_of(const SignificantDigits& digits) {
    constexpr std::uint64_t fewest = 5;  // with fewer runs, chi_squared() is too inaccurate
    const std::uint64_t finite = digits.runs - digits.failed;
    if (digits.failed == 0 && !digits.was_perturbed) return "not perturbed";
    std::string text = fmt::format("{} to {}", number_text(digits.lowest), number_text(digits.highest));
    if (finite < fewest) text = "too few runs";
    if (digits.are_equal) text = "none: all runs were equal";
    if (!std::isfinite(digits.estimate)) text = "no run differed";
    if (digits.is_chance)
        text = "not told apart from chance";
    else if (digits.by_chance > 0)
        text += fmt::format("; {} of {} not told apart from chance", digits.by_chance, counted(digits.runs, "run"));
    if (digits.failed == 0) return text;
    return fmt::format("{}{} of {} had no finite error", finite == 0 ? "" : text + "; ", digits.failed,
                       counted(digits.runs, "run"));
}

}  // namespace

SignificantDigits estimate_significant_digits(const std::vector<MeasuredRun>& runs) {
    constexpr double normal_of_97_5 = 1.959964;
    SignificantDigits digits;
    digits.are_equal = runs.size() > 1;
    double squares = 0;
    bool exceeds_chance = false;
    for (const MeasuredRun& run : runs) {
        ++digits.runs;
        digits.was_perturbed = digits.was_perturbed || run.was_lowered;
        digits.are_equal = digits.are_equal && run.error == runs.front().error;
        digits.by_chance += run.is_chance && std::isfinite(run.error) ? 1 : 0;
        exceeds_chance = exceeds_chance || (std::isfinite(run.error) && run.exceeds_chance());
        if (std::isfinite(run.error))
            squares += run.error * run.error;
        else
            ++digits.failed;
    }
    digits.is_chance = digits.by_chance > 0 && !exceeds_chance;
    if (digits.failed == digits.runs) {
        digits.estimate = digits.lowest = digits.highest = std::numeric_limits<double>::quiet_NaN();
        return digits;
    }
    const auto count = static_cast<double>(digits.runs - digits.failed);
    const double deviation = std::sqrt(squares / count);
    digits.estimate = digits_of_deviation(deviation);
    digits.lowest = digits_of_deviation(deviation * std::sqrt(count / chi_squared(count, -normal_of_97_5)));
    digits.highest = digits_of_deviation(deviation * std::sqrt(count / chi_squared(count, normal_of_97_5)));
    return digits;
}

std::string digits_text(const std::vector<PlaceDigits>& all, const SensitivityResult& result) {
    const SensitivityRunner& runner = result.runner;
    TextTable table({{.title = "perturbed", .shrinks_to = 24},
                     {.title = "at"},
                     {.title = "digits", .is_number = true},
                     {.title = "95% confidence"}});
    bool has_lost_all = false;
    for (const PlaceDigits& one : all) {
        table.add(
            {one.place == nullptr ? "everything" : "only " + one.place->text, one.precision,
             one.digits.was_perturbed && !std::isnan(one.digits.estimate) ? number_text(one.digits.estimate) : "",
             evidence_of(one.digits)});
        has_lost_all = has_lost_all || (one.place == nullptr && one.digits.was_perturbed && one.digits.highest < 1 &&
                                        one.digits.failed < one.digits.runs && !one.digits.is_chance);
    }
    std::string text = fmt::format("Significant digits of {} in {} ({}), from {} perturbed runs each\n\n{}\n",
                                   counted(runner.reference().number_count(), "number"), result.source, result.metric,
                                   all.front().digits.runs, table.text());
    if (has_lost_all)
        text +=
            "With everything perturbed, the output kept no digit: comparing single runs of this program shows "
            "nothing.\n";
    return text +
           fmt::format("{}. {}\nThe intervals assume errors that are normal around the exact run.\n",
                       counted(runner.trials().run_count() - runner.trials().earlier_run_count(), "run"),
                       noise_sentence(runner)) +
           untried_sentence(result.untried) + fresh_start_assumption(result.left_files);
}

Json digits_json(const std::vector<PlaceDigits>& all, const SensitivityResult& result) {
    Json json = {{"schema", 1},
                 {"command", result.options.words},
                 {"metric", result.metric},
                 {"source", result.source},
                 {"noise", number_or_null(result.runner.exact_run_noise())},
                 {"chance", number_or_null(result.runner.largest_chance_error())},
                 {"untried", result.untried},
                 {"digits", Json::array()}};
    for (const PlaceDigits& one : all)
        json["digits"].push_back({{"place", one.place == nullptr ? Json() : Json(one.place->text)},
                                  {"precision", one.precision},
                                  {"digits", number_or_null(one.digits.estimate)},
                                  {"lowest", number_or_null(one.digits.lowest)},
                                  {"highest", number_or_null(one.digits.highest)},
                                  {"runs", one.digits.runs},
                                  {"failed", one.digits.failed},
                                  {"by_chance", one.digits.by_chance},
                                  {"was_perturbed", one.digits.was_perturbed}});
    return json;
}

}  // namespace fp32shim::cli
