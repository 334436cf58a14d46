#include "cli/trials/chance.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

namespace fp32shim::cli {
namespace {

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

/// Returns the value that Student's t exceeds with this probability.
double students_t(double probability, std::size_t freedom) {
    double low = 0;
    double high = 1e6;
    for (int i = 0; i < 100; ++i) {
        const double middle = (low + high) / 2;
        (probability_above(middle, freedom) > probability ? low : high) = middle;
    }
    return high;
}

}  // namespace

ChanceLimit::ChanceLimit(std::size_t runs, std::size_t judged) {
    constexpr double level = 0.05;
    if (runs >= 2) students_t_ = students_t(level / static_cast<double>(std::max<std::size_t>(judged, 1)), runs - 1);
}

double ChanceLimit::largest_error(const std::vector<double>& errors) const {
    if (std::ranges::all_of(errors, [](double error) { return error == 0; })) return 0;
    const double largest = *std::ranges::max_element(errors);
    if (errors.size() < 2 || !std::isfinite(largest)) return std::numeric_limits<double>::infinity();
    const auto count = static_cast<double>(errors.size());
    double mean = 0;
    for (const double error : errors) mean += error / count;
    double variance = 0;
    for (const double error : errors) variance += (error - mean) * (error - mean) / (count - 1);
    return std::max(largest, mean + students_t_ * std::sqrt(variance * (1 + 1 / count)));
}

}  // namespace fp32shim::cli
