#include "shim/audit/weigh.hpp"

#include <algorithm>
#include <cmath>

namespace fp32shim::blas {
namespace {

/// An exact result, in the product's own type, whose error is at least this share of it is noise.
constexpr double noise_share = 0.5;
/// Returns the smallest cancellation at which a result is examined for noise: below it, the product's type has some
/// digits whatever the order of its sums.
double suspicious_cancellation(bool is_double) { return (is_double ? 0x1p53 : 0x1p24) / 64; }
/// Number of rows, spread evenly, by which a suspicious result is judged.
constexpr std::int64_t max_rows = 8;

double relative_error(double difference, double reference) {
    return difference == 0 ? 0 : std::sqrt(difference / reference);
}

bool is_noise(const Level3& product, const Matrix& start, const Results& results, char* memory) {
    const std::int64_t rows = results.exact.rows;
    const std::int64_t count = std::min(rows, max_rows);
    LineSums sums{.scale = scale_of(results.tested, results.exact, results.written.part)};
    for (std::int64_t i = 0; i < count; ++i)
        add_line(product, start, results, {true, (2 * i + 1) * rows / (2 * count)}, memory, sums);
    return relative_error(sums.exact, sums.reference) >= noise_share;
}

void store_cancellation(const ErrorSums& sums, record::Audit& audit) {
    audit.notes |= record::audit_has_cancellation;
    audit.cancellation = std::max(audit.cancellation, static_cast<float>(sums.cancellation()));
}

}  // namespace

void store_weighed(const ErrorSums& sums, const Level3& product, const Matrix& start, const Results& results,
                   char* memory, record::Audit& audit) {
    record::Audit own;
    sums.store_in(own);
    const bool has_noise = sums.cancellation() >= suspicious_cancellation(product.is_double) &&
                           (own.flags & record::audit_bad_result) == 0 && is_noise(product, start, results, memory);
    const bool is_first = (audit.notes & record::audit_has_cancellation) == 0;
    const bool had_noise = (audit.notes & record::audit_noise) != 0;
    store_cancellation(sums, audit);
    // In a batch, products of noise do not hide the errors of the others.
    if (has_noise && !is_first && !had_noise) {
        audit.errors.component = std::max(audit.errors.component, own.errors.component);
        return;
    }
    const bool is_first_judged = !has_noise && had_noise;
    if (is_first_judged) audit.errors = {.component = audit.errors.component};
    if (is_first_judged) audit.notes &= static_cast<std::uint8_t>(~record::audit_noise);
    if (is_first && has_noise) audit.notes |= record::audit_noise;
    const double before = audit.errors.error_by(policy::ErrorMetric::row);
    sums.store_in(audit);
    if (!is_first && !is_first_judged && audit.errors.error_by(policy::ErrorMetric::row) <= before) return;
    const bool by_row = own.errors.row >= own.errors.column;
    LineSums worst{.scale = product.is_double ? 0.0 : 1.0};
    add_line(product, start, results, {by_row, by_row ? own.worst_row : own.worst_column}, memory, worst);
    audit.notes |= record::audit_has_float64_errors;
    audit.fp32_error = static_cast<float>(relative_error(worst.exact, worst.reference));
    audit.tested_error = static_cast<float>(relative_error(worst.tested, worst.reference));
}

void store_unweighed(const ErrorSums& sums, record::Audit& audit) {
    sums.store_in(audit);
    store_cancellation(sums, audit);
}

}  // namespace fp32shim::blas
