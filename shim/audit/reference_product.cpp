#include "shim/audit/reference_product.hpp"

#include <algorithm>
#include <cmath>

#include "shim/audit/double_double.hpp"
#include "shim/level3/numbers.hpp"
#include "shim/level3/operand_view.hpp"

namespace fp32shim::blas {
namespace {

/// A complex number of a reference product. `Real` has twice the digits of the product's type: float64 for float32,
/// DoubleDouble for float64.
template <class Real>
struct ReferenceNumber {
    Real re = 0;
    Real im = 0;

    static ReferenceNumber read(const void* memory, bool is_double, bool is_pair) {
        return {StoredNumber(memory, is_double).value(), is_pair ? StoredNumber(memory, is_double, 1).value() : 0};
    }
    static ReferenceNumber missing_element() { return {}; }
};

template <class Real>
ReferenceNumber<Real> operator+(ReferenceNumber<Real> x, ReferenceNumber<Real> y) {
    return {x.re + y.re, x.im + y.im};
}
template <class Real>
ReferenceNumber<Real> operator*(ReferenceNumber<Real> x, ReferenceNumber<Real> y) {
    return {x.re * y.re - x.im * y.im, x.re * y.im + x.im * y.re};
}

template <class Real>
bool is_zero(ReferenceNumber<Real> x) {
    return static_cast<double>(x.re) == 0 && static_cast<double>(x.im) == 0;
}

/// The product of two dense factors, result := alpha left right + beta C. The two products of a rank-2k update, alpha
/// A B' + alpha' B A', are treated as one product: [alpha A, alpha' B] times [B, A]'.
template <class Real>
class DenseFactors {
  public:
    /// `start` has the values of the result before the call. An in-place trmm has overwritten B, so `start` replaces
    /// B.
    DenseFactors(const Level3& product, const Matrix& start) : product_(product) {
        if (is_in_place(product)) {
            product_.b = start.data;
            product_.ldb = start.ld;
        }
        for_each_two_factor_product<ReferenceNumber<Real>>(product_,
                                                           [&](const auto& factors) { of_[count_++] = factors; });
    }
    DenseFactors(const DenseFactors&) = delete;  // the factors in `of_` refer to product_
    DenseFactors& operator=(const DenseFactors&) = delete;

    std::int64_t summed() const { return count_ * of_[0].depth; }
    ReferenceNumber<Real> alpha() const {
        return has_alpha_inside() ? ReferenceNumber<Real>{1.0, 0.0} : of_[0].alpha;
    }
    ReferenceNumber<Real> beta() const { return of_[0].beta; }
    ReferenceNumber<Real> left(std::int64_t row, std::int64_t p) const {
        const auto& factors = at(p);
        const ReferenceNumber<Real> element = factors.left.at(row, p);
        return has_alpha_inside() ? factors.alpha * element : element;
    }
    ReferenceNumber<Real> right(std::int64_t p, std::int64_t column) const {
        const auto& factors = at(p);
        return factors.right.at(p, column);
    }

  private:
    bool has_alpha_inside() const { return count_ == 2; }
    /// Returns the pair of factors to which index `p` of the sum belongs, and makes `p` an index into that pair's own
    /// sum.
    const TwoFactorProduct<ReferenceNumber<Real>>& at(std::int64_t& p) const {
        if (p < of_[0].depth) return of_[0];
        p -= of_[0].depth;
        return of_[1];
    }

    Level3 product_;
    TwoFactorProduct<ReferenceNumber<Real>> of_[2];
    int count_ = 0;
};

/// Adds A times B to rows of C. All three matrices are dense and row-major. A row of A has `depth` numbers; a row of
/// B or C has `columns` numbers.
template <class Real>
void add_product(const Real* a, const Real* b, Real* c, std::int64_t rows, std::int64_t depth, std::int64_t columns) {
    constexpr std::int64_t block = 64;  // the number of rows of B that stay in the cache
    for (std::int64_t first = 0; first < depth; first += block) {
        const std::int64_t last = std::min(first + block, depth);
        for (std::int64_t i = 0; i < rows; ++i) {
            Real* const row = c + i * columns;
            for (std::int64_t p = first; p < last; ++p) {
                const Real factor = a[i * depth + p];
                const Real* const line = b + p * columns;
                for (std::int64_t j = 0; j < columns; ++j) row[j] = row[j] + factor * line[j];
            }
        }
    }
}

/// A row or column of a result.
struct ResultLine {
    bool is_row;
    std::int64_t index;
};

/// Sums of squares over rows or columns of a result. `tested` and `exact` sum the squared differences of the results
/// ComparedResults::tested and `exact` from the reference, and `reference` sums the squares of the reference.
struct LineErrors {
    double scale = 1;  ///< all values are multiplied by this factor before they are squared; 0: a factor is chosen
                       ///< that suits the values
    double tested = 0;
    double exact = 0;
    double reference = 0;
};

/// Returns an element of `matrix`, of which only the part `part` is stored. For an element outside `part`, returns
/// the mirror image, which is conjugated if `is_hermitian` is true.
template <class Real>
ReferenceNumber<Real> mirrored_at(const Matrix& matrix, Part part, bool is_hermitian, std::int64_t row,
                                  std::int64_t column) {
    if (contains(part, row, column)) return element_at<ReferenceNumber<Real>>(matrix, row, column);
    const auto mirror = element_at<ReferenceNumber<Real>>(matrix, column, row);
    return is_hermitian ? conj(mirror) : mirror;
}

/// Returns the square of scale * x.
template <class Real>
double square(ReferenceNumber<Real> x, double scale) {
    const double re = scale * static_cast<double>(x.re);
    const double im = scale * static_cast<double>(x.im);
    return re * re + im * im;
}

template <class Real>
void add_line_errors_in(const Level3& product, const Matrix& start, const ComparedResults& results, ResultLine line,
                        char* memory, LineErrors& sums) {
    const DenseFactors<Real> factors(product, start);
    const Matrix result = result_of(product);
    const std::int64_t length = line.is_row ? result.columns : result.rows;
    auto* const values = reinterpret_cast<ReferenceNumber<Real>*>(memory);
    std::fill(values, values + length, ReferenceNumber<Real>{});
    for (std::int64_t p = 0; p < factors.summed(); ++p) {
        const ReferenceNumber<Real> factor = line.is_row ? factors.left(line.index, p) : factors.right(p, line.index);
        for (std::int64_t i = 0; i < length; ++i)
            values[i] = values[i] + factor * (line.is_row ? factors.right(p, i) : factors.left(i, p));
    }
    const ReferenceNumber<Real> beta = factors.beta();
    const bool is_hermitian = is_herk_or_her2k(product.operation) || product.trans_a == 'C' || product.trans_b == 'C';
    const Part part = results.written.part;
    const auto for_each_written = [&](const auto& visit) {
        for (std::int64_t i = 0; i < length; ++i) {
            const std::int64_t row = line.is_row ? line.index : i;
            const std::int64_t column = line.is_row ? i : line.index;
            if (contains(part, row, column) || results.written.symmetric) visit(values[i], row, column);
        }
    };
    double largest = 0;
    for_each_written([&](ReferenceNumber<Real>& value, std::int64_t row, std::int64_t column) {
        value = factors.alpha() * value;
        if (!is_zero(beta)) {
            ReferenceNumber<Real> old = mirrored_at<Real>(start, part, is_hermitian, row, column);
            if (is_hermitian && results.written.symmetric && row == column)
                old.im = 0.0;  // BLAS takes the imaginary part of a Hermitian diagonal as 0
            value = value + beta * old;
        }
        largest =
            std::max({largest, std::abs(static_cast<double>(value.re)), std::abs(static_cast<double>(value.im))});
    });
    double scale = sums.scale;
    if (scale == 0) scale = std::isnormal(largest) ? power_of_two(-StoredNumber(&largest, true).exponent()) : 1;
    for_each_written([&](const ReferenceNumber<Real>& reference, std::int64_t row, std::int64_t column) {
        const auto difference = [&](const Matrix& matrix) {
            const ReferenceNumber<Real> value = mirrored_at<Real>(matrix, part, is_hermitian, row, column);
            return square(ReferenceNumber<Real>{value.re - reference.re, value.im - reference.im}, scale);
        };
        sums.tested += difference(results.tested);
        sums.exact += difference(results.exact);
        sums.reference += square(reference, scale);
    });
}

/// Computes the reference of one row or column of `product`. Adds the squared differences of `results.tested` and
/// `results.exact` from the reference to `sums`, and the squares of the reference. `memory` needs bytes_for_line()
/// bytes.
void add_line_errors(const Level3& product, const Matrix& start, const ComparedResults& results, ResultLine line,
                     char* memory, LineErrors& sums) {
    if (product.is_double)
        add_line_errors_in<DoubleDouble>(product, start, results, line, memory, sums);
    else
        add_line_errors_in<double>(product, start, results, line, memory, sums);
}

/// A result in the product's own type is only noise if its error is at least this fraction of the result.
constexpr double noise_share = 0.5;
/// Returns the smallest cancellation at which a result is examined for noise. With less cancellation, some digits of
/// the result are right in whatever order the product's type adds the terms.
double suspicious_cancellation(bool is_double) { return (is_double ? 0x1p53 : 0x1p24) / 64; }
/// The largest number of rows, spread evenly over the result, that are examined for noise.
constexpr std::int64_t max_rows = 8;

double relative_error(double difference, double reference) {
    return difference == 0 ? 0 : std::sqrt(difference / reference);
}

bool is_noise(const Level3& product, const Matrix& start, const ComparedResults& results, char* memory) {
    const std::int64_t rows = results.exact.rows;
    const std::int64_t count = std::min(rows, max_rows);
    LineErrors sums{.scale = comparison_scale(results.tested, results.exact, results.written.part)};
    for (std::int64_t i = 0; i < count; ++i)
        add_line_errors(product, start, results, {true, (2 * i + 1) * rows / (2 * count)}, memory, sums);
    return relative_error(sums.exact, sums.reference) >= noise_share;
}

void store_cancellation(const ErrorAccumulator& sums, record::Audit& audit) {
    audit.notes |= record::audit_has_cancellation;
    audit.cancellation = std::max(audit.cancellation, static_cast<float>(sums.cancellation()));
}

template <class Real>
const Real* multiply_in(const Level3& product, const Matrix& start, char* memory) {
    const DenseFactors<Real> factors(product, start);
    const std::int64_t rows = start.rows;
    const std::int64_t summed = factors.summed();
    const std::int64_t columns = start.columns;
    const bool is_complex = product.is_complex;
    // The factors are stored as real numbers. A complex product becomes a real one of twice the depth, once for the
    // real parts, re = [ar, -ai] [br; bi], and once for the imaginary parts, im = [ar, ai] [bi; br].
    const std::int64_t depth = is_complex ? 2 * summed : summed;
    auto* const left = reinterpret_cast<Real*>(memory);
    Real* const right = left + rows * depth;
    Real* const sum = right + depth * columns;
    Real* const result = sum + rows * columns;
    const bool adds_start = !is_zero(factors.beta());
    const bool is_hermitian = is_herk_or_her2k(product.operation);
    const int width = is_complex ? 2 : 1;

    const auto fill = [&](bool imaginary) {
        for (std::int64_t i = 0; i < rows; ++i)
            for (std::int64_t p = 0; p < summed; ++p) {
                const ReferenceNumber<Real> x = factors.left(i, p);
                left[i * depth + p] = x.re;
                if (is_complex) left[i * depth + summed + p] = imaginary ? x.im : -x.im;
            }
        for (std::int64_t p = 0; p < summed; ++p)
            for (std::int64_t j = 0; j < columns; ++j) {
                const ReferenceNumber<Real> y = factors.right(p, j);
                right[p * columns + j] = imaginary ? y.im : y.re;
                if (is_complex) right[(summed + p) * columns + j] = imaginary ? y.re : y.im;
            }
    };
    const auto offset = [&](std::int64_t row, std::int64_t column) {
        const std::int64_t inner = start.row_major ? column : row;
        const std::int64_t outer = start.row_major ? row : column;
        return (inner + outer * start.inner()) * width;
    };
    for (int part = 0; part < width; ++part) {
        fill(part == 1);
        std::fill(sum, sum + rows * columns, Real(0));
        add_product(left, right, sum, rows, depth, columns);
        for (std::int64_t i = 0; i < rows; ++i)
            for (std::int64_t j = 0; j < columns; ++j) result[offset(i, j) + part] = sum[i * columns + j];
    }
    for (std::int64_t i = 0; i < rows; ++i)
        for (std::int64_t j = 0; j < columns; ++j) {
            Real* const at = result + offset(i, j);
            ReferenceNumber<Real> value =
                factors.alpha() * ReferenceNumber<Real>{at[0], is_complex ? at[1] : Real(0)};
            if (adds_start) {
                auto old = element_at<ReferenceNumber<Real>>(start, i, j);
                if (is_hermitian && i == j) old.im = 0.0;  // BLAS takes this imaginary part as 0
                value = value + factors.beta() * old;
            }
            at[0] = value.re;
            if (is_complex) at[1] = value.im;
        }
    return result;
}

}  // namespace

std::size_t bytes_for_reference(const Level3& product) {
    const Matrix result = result_of(product);
    const auto rows = static_cast<double>(result.rows);
    const auto columns = static_cast<double>(result.columns);
    const auto summed = static_cast<double>(DenseFactors<double>(product, operand_b(product)).summed());
    const double numbers = rows * summed + summed * columns + 2 * rows * columns;
    const std::size_t size = product.is_double ? sizeof(DoubleDouble) : sizeof(double);
    const double bytes = numbers * static_cast<double>(size * (product.is_complex ? 2 : 1));
    return bytes < 0x1p62 ? static_cast<std::size_t>(bytes) : SIZE_MAX;
}

std::size_t bytes_for_line(const Matrix& result) {
    const std::size_t size =
        result.is_double ? sizeof(ReferenceNumber<DoubleDouble>) : sizeof(ReferenceNumber<double>);
    return static_cast<std::size_t>(std::max(result.rows, result.columns)) * size;
}

bool store_operand_exponents(const Level3& product, const Matrix& a, const Matrix& b, const Matrix& start,
                             OperandExponents& operands, record::Audit& audit) {
    operands = {};
    bool all_finite = has_finite_scalar(product, false) && has_finite_scalar(product, true);
    all_finite &= widen_exponents(a, part_of_a(product), operands.a, has_unit_diagonal(product));
    if (b.data != nullptr) all_finite &= widen_exponents(b, Part::whole, operands.b);
    if (start.data != nullptr) all_finite &= widen_exponents(start, written_part(product), operands.c);
    const auto widen = [](record::ExponentRange& sum, const record::ExponentRange& more) {
        sum = {std::min(sum.lowest, more.lowest), std::max(sum.highest, more.highest)};
    };
    widen(audit.a, operands.a);
    widen(audit.b, operands.b);
    widen(audit.c, operands.c);
    if (!all_finite) audit.flags |= record::audit_bad_operand;
    return all_finite;
}

bool reference_stays_in_range(const Level3& product, const OperandExponents& operands) {
    if (!product.is_double) return true;
    const auto exponents_of = [](const void* scalar, bool is_complex) {
        record::ExponentRange exponents;
        const int count = scalar == nullptr ? 0 : 1;
        widen_exponents(
            {static_cast<const float*>(scalar), count, count, 1, false, is_complex ? 4 : 2, is_complex, true},
            Part::whole, exponents);
        return exponents.lowest > exponents.highest ? record::ExponentRange{0, 0} : exponents;
    };
    const record::ExponentRange alpha = exponents_of(product.alpha, has_complex_scalar(product, false));
    const record::ExponentRange beta = exponents_of(product.beta, has_complex_scalar(product, true));
    // The range of B is empty if there is no B, as in syrk and herk, where A is also the right factor. The range is
    // also empty if all numbers of B are 0; then the product has no terms, and using A's range does no harm.
    const record::ExponentRange& b = operands.b.lowest > operands.b.highest ? operands.a : operands.b;
    const int lowest = std::min(0 + operands.a.lowest, 0 + b.lowest);
    const int lowest_term = operands.a.lowest + b.lowest;
    if (std::max({operands.a.highest, b.highest, operands.c.highest, alpha.highest, beta.highest}) >=
        safe_exponent_of_double_double)
        return false;
    constexpr int least = -1022 + 53;  // above this exponent, the last digits of a product are normal numbers
    return std::min({lowest, lowest_term, lowest_term + alpha.lowest, lowest + alpha.lowest,
                     operands.c.lowest + beta.lowest}) >= least;
}

ReferenceMatrix multiply_for_reference(const Level3& product, const Matrix& start, char* memory) {
    if (product.is_double) return {nullptr, multiply_in<DoubleDouble>(product, start, memory), start.inner()};
    return {multiply_in<double>(product, start, memory), nullptr, start.inner()};
}

void store_errors_and_noise(const ErrorAccumulator& sums, const Level3& product, const Matrix& start,
                            const ComparedResults& results, char* memory, record::Audit& audit) {
    record::Audit own;
    sums.raise_audit_errors(own);
    const bool has_noise = sums.cancellation() >= suspicious_cancellation(product.is_double) &&
                           (own.flags & record::audit_bad_result) == 0 && is_noise(product, start, results, memory);
    const bool is_first = (audit.notes & record::audit_has_cancellation) == 0;
    const bool had_noise = (audit.notes & record::audit_noise) != 0;
    store_cancellation(sums, audit);
    // If a batch has other products, the errors of a product that is only noise are left out, since they would hide
    // the errors of the other products.
    if (has_noise && !is_first && !had_noise) {
        audit.errors.component = std::max(audit.errors.component, own.errors.component);
        return;
    }
    const bool is_first_judged = !has_noise && had_noise;
    if (is_first_judged) audit.errors = {.component = audit.errors.component};
    if (is_first_judged) audit.notes &= static_cast<std::uint8_t>(~record::audit_noise);
    if (is_first && has_noise) audit.notes |= record::audit_noise;
    const double before = audit.errors.error_by(policy::ErrorMetric::row);
    sums.raise_audit_errors(audit);
    if (!is_first && !is_first_judged && audit.errors.error_by(policy::ErrorMetric::row) <= before) return;
    const bool by_row = own.errors.row >= own.errors.column;
    LineErrors worst{.scale = product.is_double ? 0.0 : 1.0};
    add_line_errors(product, start, results, {by_row, by_row ? own.worst_row : own.worst_column}, memory, worst);
    audit.notes |= record::audit_has_float64_errors;
    audit.fp32_error = static_cast<float>(relative_error(worst.exact, worst.reference));
    audit.tested_error = static_cast<float>(relative_error(worst.tested, worst.reference));
}

void store_errors_and_cancellation(const ErrorAccumulator& sums, record::Audit& audit) {
    sums.raise_audit_errors(audit);
    store_cancellation(sums, audit);
}

}  // namespace fp32shim::blas
