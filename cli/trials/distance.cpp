#include "cli/trials/distance.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "cli/output/json.hpp"
#include "cli/output/terminal.hpp"

namespace fp32shim::cli {
namespace {

constexpr double infinite_change = std::numeric_limits<double>::infinity();
/// By default, a number or an array in which exact runs differ by more than this limit does not count. If all numbers
/// and arrays differ by more, all of them count.
constexpr double usual_noise_limit = 0.01;

bool is_same(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

/// Returns the relative difference between `found` and `exact`.
double relative_change(double exact, double found) {
    if (is_same(exact, found)) return 0;
    if (!std::isfinite(exact) || !std::isfinite(found) || exact == 0) return infinite_change;
    return std::abs(found - exact) / std::abs(exact);
}

/// Returns the probability that Student's t is above `t`, which is not negative (Abramowitz and Stegun, 26.7.3 and
/// 26.7.4).
double probability_above(double t, std::size_t freedom) {
    const double angle = std::atan(t / std::sqrt(static_cast<double>(freedom)));
    const double cosine = std::cos(angle);
    const bool is_odd = freedom % 2 == 1;
    double term = is_odd ? cosine : 1;
    double sum = freedom == 1 ? 0 : term;
    for (std::size_t i = is_odd ? 3 : 2; i + 1 < freedom; i += 2) {
        term *= cosine * cosine * static_cast<double>(i - 1) / static_cast<double>(i);
        sum += term;
    }
    const double within = is_odd ? 2 / std::numbers::pi * (angle + std::sin(angle) * sum) : std::sin(angle) * sum;
    return (1 - within) / 2;
}

/// Returns the value that Student's t exceeds with the given probability, for `freedom` degrees of freedom.
double students_t(double probability, std::size_t freedom) {
    double low = 0;
    double high = 1e6;
    for (int i = 0; i < 100; ++i) {
        const double middle = (low + high) / 2;
        (probability_above(middle, freedom) > probability ? low : high) = middle;
    }
    return high;
}

/// Returns the largest error that chance explains, with 95% confidence for all of `judged` errors together
/// (Bonferroni's inequality). `errors` are the errors of exact runs, which are assumed to be normally distributed.
/// The result is the prediction limit mean + t·s·sqrt(1 + 1/n), or the largest of `errors` if that is larger. The
/// result is 0 if all errors are 0. It is infinite if an error is infinite, or if there are fewer than two errors.
double largest_by_chance(const std::vector<double>& errors, std::size_t judged) {
    constexpr double level = 0.05;
    if (std::ranges::all_of(errors, [](double error) { return error == 0; })) return 0;
    const double largest = *std::ranges::max_element(errors);
    if (errors.size() < 2 || !std::isfinite(largest)) return infinite_change;
    const auto count = static_cast<double>(errors.size());
    double mean = 0;
    for (const double error : errors) mean += error / count;
    double variance = 0;
    for (const double error : errors) variance += (error - mean) * (error - mean) / (count - 1);
    const double t = students_t(level / static_cast<double>(std::max<std::size_t>(judged, 1)), errors.size() - 1);
    return std::max(largest, mean + t * std::sqrt(variance * (1 + 1 / count)));
}

/// Computes the norm, or the maximum, of the differences between numbers of two runs, relative to the norm or maximum
/// of those exact numbers that differ.
class DifferenceNorm {
  public:
    explicit DifferenceNorm(bool takes_largest) : takes_largest_(takes_largest) {}

    void add(double exact, double found) {
        if (is_same(exact, found)) return;
        has_nonfinite_ = has_nonfinite_ || !std::isfinite(exact) || !std::isfinite(found);
        join(difference_, std::abs(found - exact));
        join(size_, std::abs(exact));
    }

    double relative() const {
        if (has_nonfinite_) return infinite_change;
        if (difference_ == 0) return 0;
        return size_ == 0 ? infinite_change : difference_ / size_;
    }

  private:
    void join(double& sum, double next) const {
        // hypot() avoids intermediate overflow and underflow.
        sum = takes_largest_ ? std::max(sum, next) : std::hypot(sum, next);
    }

    bool takes_largest_;
    bool has_nonfinite_ = false;  ///< some number that differs is NaN or infinite in at least one of the two runs
    double difference_ = 0, size_ = 0;
};

std::string problem_of(const ChangedRow& row) {
    const std::string name = printable(row.worst.empty() ? row.name : row.worst);
    return fmt::format("{} became {:.3g} and was {:.3g}", name, row.found, row.exact);
}

}  // namespace

ExactRunReference::ExactRunReference(const NumberComparison& comparison)
    : metric_(comparison.metric),
      relative_(comparison.relative),
      absolute_(comparison.absolute),
      largest_noise_(std::max(usual_noise_limit, comparison.tolerance)) {}

std::string ExactRunReference::add_exact_run(const ParsedNumbers& numbers) {
    if (is_empty()) {
        first_ = numbers;
        noise_.assign(first_.rows.size(), 0);
        chance_ = noise_;
        changes_.resize(first_.rows.size());
        has_other_words_.assign(first_.rows.size() + 1, false);
        return {};
    }
    if (numbers.rows.size() != first_.rows.size() || numbers.values.size() != first_.values.size())
        return difference_of_words_or_count(numbers);
    for (std::size_t row = 0; row <= first_.rows.size(); ++row)
        if (!numbers.words_before(row).equals_except_timestamps(first_.words_before(row)))
            has_other_words_[row] = true;
    for (std::size_t row = 0; row < first_.rows.size(); ++row) {
        const double change = change_of(first_.rows[row], numbers.values);
        if (!compares_by_limits()) changes_[row].push_back(change);
        noise_[row] = std::max(noise_[row], change);
    }
    if (!compares_by_row() && !compares_by_limits()) others_.push_back(numbers.values);
    const bool leaves_out_all =
        std::ranges::none_of(noise_, [this](double noise) { return noise <= largest_noise_; });
    if (leaves_out_all) leaves_out_ = false;
    return {};
}

void ExactRunReference::expect_compared_runs(std::size_t count) {
    expected_runs_ = count;
    std::size_t judged = 0;  // a number or array that is equal in all exact runs cannot change by chance
    for (std::size_t row = 0; row < noise_.size(); ++row) judged += is_counted(row) && noise_[row] > 0 ? 1 : 0;
    for (std::size_t row = 0; row < noise_.size(); ++row)
        chance_[row] = largest_by_chance(changes_[row], judged * count);
}

void ExactRunReference::include_all_rows() {
    leaves_out_ = false;
    expect_compared_runs(expected_runs_);
}

/// Returns the relative change of a number or an array. With OutputMetric::each, the change of an array is the
/// largest relative change of its numbers; otherwise it is the norm of the differences.
double ExactRunReference::change_of(const NumberRow& row, const std::vector<double>& found) const {
    DifferenceNorm sum(false);
    double largest = 0;
    for (std::size_t i = row.first; i < row.first + row.count; ++i) {
        sum.add(first_.values[i], found[i]);
        if (metric_ == OutputMetric::each) largest = std::max(largest, relative_change(first_.values[i], found[i]));
    }
    return metric_ == OutputMetric::each ? largest : sum.relative();
}

ChangedRow ExactRunReference::changed_row(std::size_t row, const std::vector<double>& found) const {
    const NumberRow& numbers = first_.rows[row];
    ChangedRow changed{.name = numbers.name(), .change = change_of(numbers, found), .noise = noise_[row]};
    changed.counts = is_counted(row);
    std::size_t worst = numbers.first;
    for (std::size_t i = numbers.first; i < numbers.first + numbers.count; ++i) {
        const double change = relative_change(first_.values[i], found[i]);
        if (!(change > changed.worst_change)) continue;
        changed.worst_change = change;
        worst = i;
    }
    changed.exact = first_.values[worst];
    changed.found = found[worst];
    if (numbers.line == 0) changed.worst = numbers.name_of_value(worst);
    return changed;
}

/// Returns a sentence about the first words that differ from those of the exact runs, or about a different count of
/// numbers. Returns an empty text if nothing differs. Words that differ between exact runs do not count.
std::string ExactRunReference::difference_of_words_or_count(const ParsedNumbers& found) const {
    const std::size_t rows = std::min(found.rows.size(), first_.rows.size());
    const bool has_other_count =
        found.rows.size() != first_.rows.size() || found.values.size() != first_.values.size();
    std::string text;
    if (has_other_count)
        text = fmt::format("{} instead of {}", counted(found.values.size(), "number"), first_.values.size());
    for (std::size_t row = 0; row <= rows; ++row) {
        const WordsBetweenNumbers &exact = first_.words_before(row), &now = found.words_before(row);
        if (exact.equals_except_timestamps(now) || has_other_words_[row]) continue;
        const bool is_text = first_.rows.front().line > 0;
        const std::uint64_t line = row < first_.rows.size() ? first_.rows[row].line : 0;
        return fmt::format("{}{}{}{}", text, text.empty() ? "" : ", ",
                           !is_text   ? ""
                           : line > 0 ? fmt::format("line {}: ", line)
                                      : "at the end: ",
                           first_difference_text(exact, now));
    }
    return text;
}

/// Returns true if chance explains the change `change` of the number or array with index `row`. Chance explains an
/// infinite change only if the exact runs also had one.
bool ExactRunReference::is_explained_by_chance(std::size_t row, double change) const {
    return change <= chance_[row] && (std::isfinite(change) || !std::isfinite(noise_[row]));
}

/// Adds the changed numbers and arrays to `distance`. With OutputMetric::number and OutputMetric::each, also computes
/// the error.
void ExactRunReference::add_distances_of_rows(const std::vector<double>& found, OutputDistance& distance) const {
    constexpr std::size_t max_rows = 10;
    double by_chance = 0;
    bool exceeds_chance = false;
    std::vector<std::pair<double, std::size_t>> changes;
    for (std::size_t row = 0; row < first_.rows.size(); ++row) {
        const double change = change_of(first_.rows[row], found);
        if (change == 0) continue;
        changes.emplace_back(change, row);
        if (!is_counted(row)) continue;
        if (is_explained_by_chance(row, change)) {
            by_chance = std::max(by_chance, change);
            continue;
        }
        exceeds_chance = true;
        distance.error = std::max(distance.error, change);
    }
    distance.is_chance = !exceeds_chance && by_chance > 0;
    if (distance.is_chance) distance.error = by_chance;
    distance.changed = changes.size();
    std::ranges::stable_sort(changes, [](const auto& a, const auto& b) { return a.first > b.first; });
    for (const bool takes_counted : {true, false}) {
        std::size_t left = max_rows;
        for (const auto& [change, row] : changes)
            if (is_counted(row) == takes_counted && left > 0) {
                --left;
                distance.most.push_back(changed_row(row, found));
            }
    }
}

double ExactRunReference::error_by_norm(const std::vector<double>& found) const {
    DifferenceNorm sum(metric_ == OutputMetric::max);
    for (std::size_t row = 0; row < first_.rows.size(); ++row)
        if (const NumberRow& numbers = first_.rows[row]; is_counted(row))
            for (std::size_t i = numbers.first; i < numbers.first + numbers.count; ++i)
                sum.add(first_.values[i], found[i]);
    return sum.relative();
}

/// Returns a sentence about the first number that differs from the exact number by more than the limits, or an empty
/// text if no number does. NaN is equal only to NaN.
std::string ExactRunReference::difference_beyond_limits(const std::vector<double>& found) const {
    for (std::size_t i = 0; i < found.size(); ++i) {
        const double wanted = first_.values[i];
        if (is_same(found[i], wanted)) continue;
        if (std::isfinite(wanted) && std::abs(found[i] - wanted) <= absolute_ + relative_ * std::abs(wanted))
            continue;
        return fmt::format("number {} is {} instead of {}", i + 1, found[i], wanted);
    }
    return {};
}

OutputDistance ExactRunReference::distance_of(const ParsedNumbers& found) const {
    OutputDistance distance;
    const std::string words = difference_of_words_or_count(found);
    if (compares_by_limits()) {
        const bool has_same_count = found.values.size() == first_.values.size();
        if (has_same_count) distance.problem = difference_beyond_limits(found.values);
        distance.has_other_words = has_same_count && distance.problem.empty() && !words.empty();
        if (distance.problem.empty()) distance.problem = words;
        if (!distance.problem.empty()) distance.error = infinite_change;
        return distance;
    }
    if (found.rows.size() == first_.rows.size() && found.values.size() == first_.values.size()) {
        add_distances_of_rows(found.values, distance);
        if (!compares_by_row()) {
            distance.error = error_by_norm(found.values);
            distance.is_chance = distance.error > 0 && distance.error <= largest_chance_error();
        }
    }
    if (!words.empty()) {
        distance.error = infinite_change;
        distance.is_chance = false;
        distance.problem = words;
    } else if (!std::isfinite(distance.error) && !distance.is_chance) {
        distance.problem = problem_of(distance.most.front());
    }
    return distance;
}

double ExactRunReference::exact_run_noise() const {
    double noise = 0;
    if (!compares_by_row()) {
        for (const std::vector<double>& run : others_) noise = std::max(noise, error_by_norm(run));
        return noise;
    }
    for (std::size_t row = 0; row < noise_.size(); ++row)
        if (is_counted(row)) noise = std::max(noise, noise_[row]);
    return noise;
}

double ExactRunReference::largest_chance_error() const {
    if (!compares_by_row()) {
        std::vector<double> errors;
        for (const std::vector<double>& run : others_) errors.push_back(error_by_norm(run));
        return largest_by_chance(errors, expected_runs_);
    }
    double chance = 0;
    for (std::size_t row = 0; row < chance_.size(); ++row)
        if (is_counted(row)) chance = std::max(chance, chance_[row]);
    return chance;
}

std::vector<ChangedRow> ExactRunReference::rows_left_out() const {
    std::vector<ChangedRow> rows;
    for (std::size_t row = 0; row < noise_.size(); ++row)
        if (!is_counted(row))
            rows.push_back({.name = first_.rows[row].name(), .noise = noise_[row], .counts = false});
    return rows;
}

Json to_json(const OutputDistance& distance) {
    Json json = {{"error", number_or_null(distance.error)},
                 {"problem", text_or_null(distance.problem)},
                 {"is_chance", distance.is_chance},
                 {"changed", distance.changed},
                 {"most_changed", Json::array()}};
    for (const ChangedRow& row : distance.most)
        json["most_changed"].push_back({{"number", row.name},
                                        {"exact", number_or_null(row.exact)},
                                        {"found", number_or_null(row.found)},
                                        {"change", number_or_null(row.change)},
                                        {"worst", text_or_null(row.worst)},
                                        {"worst_change", number_or_null(row.worst_change)},
                                        {"noise", number_or_null(row.noise)},
                                        {"counts", row.counts}});
    return json;
}

OutputDistance distance_from_json(const Json& json) {
    const auto number = [](const Json& value) { return value.is_null() ? infinite_change : value.get<double>(); };
    const auto value = [](const Json& value) { return value.is_null() ? std::nan("") : value.get<double>(); };
    const auto text = [](const Json& value) { return value.is_null() ? std::string() : value.get<std::string>(); };
    OutputDistance distance{.error = number(json.at("error")),
                            .problem = text(json.at("problem")),
                            .is_chance = json.at("is_chance"),
                            .changed = json.at("changed")};
    for (const Json& row : json.at("most_changed"))
        distance.most.push_back({.name = row.at("number"),
                                 .exact = value(row.at("exact")),
                                 .found = value(row.at("found")),
                                 .worst = text(row.at("worst")),
                                 .worst_change = number(row.at("worst_change")),
                                 .change = number(row.at("change")),
                                 .noise = number(row.at("noise")),
                                 .counts = row.at("counts")});
    return distance;
}

}  // namespace fp32shim::cli
