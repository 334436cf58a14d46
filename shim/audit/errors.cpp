#include "shim/audit/errors.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "shim/level3/numbers.hpp"

namespace fp32shim::blas {
namespace {

double modulus(double re, double im) { return std::sqrt(re * re + im * im); }

double scaled(double number, double scale) { return number * scale; }
DoubleDouble scaled(DoubleDouble number, double scale) { return {number.high * scale, number.low * scale}; }

double difference(double tested, double reference) { return tested - reference; }
double difference(double tested, DoubleDouble reference) { return (tested - reference.high) - reference.low; }

/// Adds the difference between `tested` and `reference` at one element to `sums`. The element consists of `width`
/// numbers, all of which are first multiplied by `scale`.
template <class Tested, class Reference>
void add_difference(const Tested* tested, const Reference* reference, double bound, int width, double scale,
                    std::int64_t row, std::int64_t column, ErrorAccumulator& sums) {
    double d[2] = {};
    double r[2] = {};
    for (int i = 0; i < width; ++i) {
        const auto exact = scaled(reference[i], scale);
        r[i] = static_cast<double>(exact);
        d[i] = difference(scaled(tested[i], scale), exact);
        if (!std::isfinite(r[i])) return sums.note_nonfinite_reference();
        if (!std::isfinite(d[i])) return sums.note_nonfinite_tested();
    }
    if (width == 1) return sums.add_element(row, column, std::abs(d[0]), std::abs(r[0]), bound * scale);
    sums.add_element(row, column, modulus(d[0], d[1]), modulus(r[0], r[1]), bound * scale);
}

/// Calls `visit(row, column)` for each stored element of `matrix` that lies in `part`.
template <class Visit>
void for_each_element(const Matrix& matrix, Part part, const Visit& visit) {
    for (std::int64_t outer = 0; outer < matrix.outer(); ++outer) {
        const auto [begin, end] = stored_range(matrix, part, outer);
        for (std::int64_t inner = begin; inner < end; ++inner)
            matrix.row_major ? visit(outer, inner) : visit(inner, outer);
    }
}

template <class Tested, class Reference>
void compare_elements(const Matrix& tested, const Reference* reference, std::int64_t reference_ld, double scale,
                      const ComponentwiseBound& bound, WrittenRegion written, ErrorAccumulator& sums) {
    const int width = tested.is_complex ? 2 : 1;
    for_each_element(tested, written.part, [&](std::int64_t row, std::int64_t column) {
        const std::int64_t inner = tested.row_major ? column : row;
        const std::int64_t outer = tested.row_major ? row : column;
        const Reference* const at = reference + (inner + outer * reference_ld) * width;
        const auto* const tested_at = reinterpret_cast<const Tested*>(tested.at(row, column));
        const double bound_at = bound.at(row, column);
        add_difference(tested_at, at, bound_at, width, scale, row, column, sums);
        if (written.symmetric && row != column)
            add_difference(tested_at, at, bound_at, width, scale, column, row, sums);
    });
}

}  // namespace

WrittenRegion written_region(const Level3& product) {
    return {written_part(product), is_rank_k_update(product.operation)};
}

std::size_t ErrorAccumulator::bytes_needed(const Matrix& result) {
    return static_cast<std::size_t>(result.rows + result.columns) * sizeof(SquareSums);
}

ErrorAccumulator::ErrorAccumulator(const Matrix& result, char* zeros)
    : row_count_(result.rows),
      column_count_(result.columns),
      rows_(reinterpret_cast<SquareSums*>(zeros)),
      columns_(rows_ + result.rows) {}

void ErrorAccumulator::raise_audit_errors(record::Audit& audit) const {
    constexpr double beyond = std::numeric_limits<double>::infinity();
    const auto raise = [](double error, double& largest) {
        if (!(error > largest)) return false;
        largest = error;
        return true;
    };
    double difference = 0;
    double reference = 0;
    for (std::int64_t i = 0; i < row_count_; ++i) {
        difference += rows_[i].difference;
        reference += rows_[i].reference;
        if (raise(std::sqrt(ratio(rows_[i].difference, rows_[i].reference)), audit.errors.row))
            audit.worst_row = static_cast<std::uint32_t>(i);
    }
    for (std::int64_t i = 0; i < column_count_; ++i)
        if (raise(std::sqrt(ratio(columns_[i].difference, columns_[i].reference)), audit.errors.column))
            audit.worst_column = static_cast<std::uint32_t>(i);
    raise(std::sqrt(ratio(difference, reference)), audit.errors.norm);
    raise(ratio(largest_difference_, largest_reference_), audit.errors.max);
    raise(count_ == 0 ? 0 : ratio(largest_difference_, sum_ / count_), audit.errors.mean);
    raise(component_, audit.errors.component);
    if (has_bad_reference_ || has_bad_tested_) audit.flags |= record::audit_bad_result;
    if (!has_bad_tested_) return;
    for (const record::NamedAuditError& error : record::audit_errors) audit.errors.*error.value = beyond;
}

double ComponentwiseBound::at(std::int64_t row, std::int64_t column) const {
    // The bound of a complex element is real, so only the first number of the element is read.
    const double size = StoredNumber(sizes.at(row, column), sizes.is_double).value();
    if (std::isfinite(size) || reduced.data == nullptr) return size;
    const float* const from = start.data == nullptr ? nullptr : start.at(row, column);
    const double started = from == nullptr ? 0 : modulus(from[0], start.width == 2 ? from[1] : 0);
    return alpha * bound_reduction * static_cast<double>(*reduced.at(row, column)) + beta * started;
}

double power_of_two(int exponent) {
    constexpr int most = 1000;  // 2^most and 2^-most are normal numbers
    return std::bit_cast<double>(static_cast<std::uint64_t>(1023 + std::clamp(exponent, -most, most)) << 52);
}

double comparison_scale(const Matrix& tested, const Matrix& other, Part written) {
    if (!tested.is_double) return 1;
    record::ExponentRange exponents;
    widen_exponents(tested, written, exponents);
    widen_exponents(other, written, exponents);
    return exponents.highest < exponents.lowest ? 1 : power_of_two(-exponents.highest);
}

void accumulate_differences(const Matrix& tested, const Matrix& reference, const ComponentwiseBound& bound,
                            WrittenRegion written, ErrorAccumulator& sums) {
    if (tested.is_double)
        compare_elements<double>(tested, reinterpret_cast<const double*>(reference.data), reference.ld,
                                 comparison_scale(tested, reference, written.part), bound, written, sums);
    else
        compare_elements<float>(tested, reference.data, reference.ld, 1, bound, written, sums);
}

void accumulate_differences(const Matrix& tested, const ReferenceMatrix& reference, const ComponentwiseBound& bound,
                            WrittenRegion written, ErrorAccumulator& sums) {
    if (tested.is_double)
        compare_elements<double>(tested, reference.of_float64, reference.ld,
                                 comparison_scale(tested, tested, written.part), bound, written, sums);
    else
        compare_elements<float>(tested, reference.of_float32, reference.ld, 1, bound, written, sums);
}

bool widen_exponents(const Matrix& matrix, Part part, record::ExponentRange& exponents, bool skips_diagonal) {
    bool all_finite = true;
    int lowest = exponents.lowest;
    int highest = exponents.highest;
    for_each_element(matrix, part, [&](std::int64_t row, std::int64_t column) {
        if (skips_diagonal && row == column) return;
        for (int i = 0; i < (matrix.is_complex ? 2 : 1); ++i) {
            const StoredNumber number(matrix.at(row, column), matrix.is_double, i);
            if (number.is_zero()) continue;
            if (!number.is_finite()) {
                all_finite = false;
                continue;
            }
            const int exponent = number.exponent();
            lowest = std::min(lowest, exponent);
            highest = std::max(highest, exponent);
        }
    });
    exponents = {static_cast<std::int16_t>(lowest), static_cast<std::int16_t>(highest)};
    return all_finite;
}

}  // namespace fp32shim::blas
