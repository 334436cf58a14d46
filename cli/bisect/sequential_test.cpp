#include "cli/bisect/sequential_test.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace fp32shim::cli {
namespace {

/// Returns the probability that at most `counts.failed` of `counts.total()` runs fail if each run fails with the
/// probability `rate`.
double probability_of_at_most(const RunCounts& counts, double rate) {
    double term = std::pow(1 - rate, static_cast<double>(counts.total()));
    double sum = term;
    for (std::uint64_t i = 0; i < counts.failed; ++i) {
        term *= static_cast<double>(counts.total() - i) / static_cast<double>(i + 1) * rate / (1 - rate);
        sum += term;
    }
    return sum;
}

double rate_by_rule_of_succession(const RunCounts& counts) {
    return (static_cast<double>(counts.failed) + 1) / (static_cast<double>(counts.total()) + 2);
}

}  // namespace

std::optional<bool> fails_by_cause(const RunCounts& counts, const FailureRates& rates, double error) {
    const double ratio = static_cast<double>(counts.failed) * std::log(rates.by_cause / rates.at_random) +
                         static_cast<double>(counts.passed) * std::log((1 - rates.by_cause) / (1 - rates.at_random));
    const double bound = std::log((1 - error) / error);
    if (ratio >= bound) return true;
    if (ratio <= -bound) return false;
    return std::nullopt;
}

std::uint64_t expected_set_count(std::size_t lines) {
    return 4 * static_cast<std::uint64_t>(std::bit_width(std::max<std::size_t>(lines, 1) - 1)) + 8;
}

double error_rate_per_answer(std::size_t lines) {
    return error_of_a_search / static_cast<double>(expected_set_count(lines));
}

FailureRates rates_to_tell_apart(const RunCounts& exact, double error) {
    constexpr double least_rise = 0.2, step = 0.005, highest = 0.99;
    constexpr double most_expected_runs = 40;
    FailureRates rates{rate_by_rule_of_succession(exact),
                       std::min(rate_by_rule_of_succession(exact) + least_rise, highest)};
    const auto evidence_of_a_run = [&rates] {
        return rates.at_random * std::log(rates.by_cause / rates.at_random) +
               (1 - rates.at_random) * std::log((1 - rates.by_cause) / (1 - rates.at_random));
    };
    while (rates.by_cause < highest - step &&
           -evidence_of_a_run() * most_expected_runs < std::log((1 - error) / error))
        rates.by_cause += step;
    return rates;
}

FailureRates rates_for_parts(const FailureRates& sought, const RunCounts& lowered) {
    const double lowest = 1 - upper_bound_of_failure_rate({lowered.passed, lowered.failed});
    const double by_cause = sought.at_random + 0.75 * (lowest - sought.at_random);
    return {sought.at_random, std::clamp(by_cause, sought.by_cause, 0.99)};
}

double upper_bound_of_failure_rate(const RunCounts& counts) {
    if (counts.passed == 0) return 1;
    double low = 0;
    double high = 1;
    for (int i = 0; i < 60; ++i) {
        const double middle = (low + high) / 2;
        (probability_of_at_most(counts, middle) > 0.05 ? low : high) = middle;
    }
    return high;
}

}  // namespace fp32shim::cli
