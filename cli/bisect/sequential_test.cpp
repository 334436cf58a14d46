#include "cli/bisect/sequential_test.hpp"

#include <algorithm>
#include <cmath>

namespace fp32shim::cli {
namespace {

/// Returns the probability that at most `counts.failed` of all runs fail if each fails with this rate.
double probability_of_at_most(const RunCounts& counts, double rate) {
    double term = std::pow(1 - rate, static_cast<double>(counts.all()));
    double sum = term;
    for (std::uint64_t i = 0; i < counts.failed; ++i) {
        term *= static_cast<double>(counts.all() - i) / static_cast<double>(i + 1) * rate / (1 - rate);
        sum += term;
    }
    return sum;
}

double succession(const RunCounts& counts) {
    return (static_cast<double>(counts.failed) + 1) / (static_cast<double>(counts.all()) + 2);
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

FailureRates estimated_rates(const RunCounts& exact, const RunCounts& lowered) {
    const double at_random = succession(exact);
    const double rise = std::max(succession(lowered) - at_random, 0.0);
    constexpr double least_rise = 0.2;  // smaller ones would take hundreds of runs
    return {at_random, std::min(at_random + std::max(0.75 * rise, least_rise), 0.99)};
}

double largest_rate(const RunCounts& counts) {
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
