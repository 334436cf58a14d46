#include "shim/audit/reference_product.hpp"

#include <algorithm>
#include <cmath>

#include "shim/audit/double_double.hpp"
#include "shim/level3/numbers.hpp"
#include "shim/level3/operand_view.hpp"

namespace fp32shim::blas {
namespace {

/// A complex number. `Real` has the digits of the reference: float64 for float32 products, twice as many for float64.
template <class Real>
struct Number {
    Real re = 0;
    Real im = 0;

    static Number read(const void* memory, bool is_double, bool is_pair) {
        return {StoredNumber(memory, is_double).value(), is_pair ? StoredNumber(memory, is_double, 1).value() : 0};
    }
    static Number missing() { return {}; }
};

template <class Real>
Number<Real> operator+(Number<Real> x, Number<Real> y) {
    return {x.re + y.re, x.im + y.im};
}
template <class Real>
Number<Real> operator*(Number<Real> x, Number<Real> y) {
    return {x.re * y.re - x.im * y.im, x.re * y.im + x.im * y.re};
}

template <class Real>
bool is_zero(Number<Real> x) {
    return static_cast<double>(x.re) == 0 && static_cast<double>(x.im) == 0;
}

/// A product as that of two dense factors: result := alpha left right + beta C. Of a rank-2k update, alpha A B' +
/// alpha' B A' is [alpha A, alpha' B] times [B, A]'.
template <class Real>
class DenseFactors {
  public:
    /// An in-place trmm has overwritten its B, so `start` replaces it.
    DenseFactors(const Level3& product, const Matrix& start) : product_(product) {
        if (is_in_place(product)) {
            product_.b = start.data;
            product_.ldb = start.ld;
        }
        for_each_product_of_factors<Number<Real>>(product_, [&](const auto& factors) { of_[count_++] = factors; });
    }
    DenseFactors(const DenseFactors&) = delete;  // the factors point to product_
    DenseFactors& operator=(const DenseFactors&) = delete;

    std::int64_t summed() const { return count_ * of_[0].depth; }
    Number<Real> alpha() const { return has_alpha_inside() ? Number<Real>{1.0, 0.0} : of_[0].alpha; }
    Number<Real> beta() const { return of_[0].beta; }
    Number<Real> left(std::int64_t row, std::int64_t p) const {
        const auto& factors = at(p);
        const Number<Real> element = factors.left.at(row, p);
        return has_alpha_inside() ? factors.alpha * element : element;
    }
    Number<Real> right(std::int64_t p, std::int64_t column) const {
        const auto& factors = at(p);
        return factors.right.at(p, column);
    }

  private:
    bool has_alpha_inside() const { return count_ == 2; }
    /// Returns the factors that have index `p` of the sum, and makes it an index of theirs.
    const FactorsOf<Number<Real>>& at(std::int64_t& p) const {
        if (p < of_[0].depth) return of_[0];
        p -= of_[0].depth;
        return of_[1];
    }

    Level3 product_;
    FactorsOf<Number<Real>> of_[2];
    int count_ = 0;
};

/// Adds A times B to rows of C, all dense. Each row of A has `depth` numbers, each row of B and C `columns`.
template <class Real>
void add_product(const Real* a, const Real* b, Real* c, std::int64_t rows, std::int64_t depth, std::int64_t columns) {
    constexpr std::int64_t block = 64;  // rows of B that stay in the cache
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

/// Returns the element of `matrix` that a row and column stand for: its mirror image, in a triangle that is not
/// stored.
template <class Real>
Number<Real> mirrored_at(const Matrix& matrix, Part part, bool is_hermitian, std::int64_t row, std::int64_t column) {
    if (contains(part, row, column)) return element_at<Number<Real>>(matrix, row, column);
    const auto mirror = element_at<Number<Real>>(matrix, column, row);
    return is_hermitian ? conj(mirror) : mirror;
}

/// Returns the square of scale * x.
template <class Real>
double square(Number<Real> x, double scale) {
    const double re = scale * static_cast<double>(x.re);
    const double im = scale * static_cast<double>(x.im);
    return re * re + im * im;
}

template <class Real>
void add_line_in(const Level3& product, const Matrix& start, const Results& results, Line line, char* memory,
                 LineSums& sums) {
    const DenseFactors<Real> factors(product, start);
    const Matrix result = result_of(product);
    const std::int64_t length = line.is_row ? result.columns : result.rows;
    auto* const values = reinterpret_cast<Number<Real>*>(memory);
    std::fill(values, values + length, Number<Real>{});
    for (std::int64_t p = 0; p < factors.summed(); ++p) {
        const Number<Real> factor = line.is_row ? factors.left(line.index, p) : factors.right(p, line.index);
        for (std::int64_t i = 0; i < length; ++i)
            values[i] = values[i] + factor * (line.is_row ? factors.right(p, i) : factors.left(i, p));
    }
    const Number<Real> beta = factors.beta();
    const bool is_hermitian =
        is_hermitian_update(product.operation) || product.trans_a == 'C' || product.trans_b == 'C';
    const Part part = results.written.part;
    const auto for_each_written = [&](const auto& visit) {
        for (std::int64_t i = 0; i < length; ++i) {
            const std::int64_t row = line.is_row ? line.index : i;
            const std::int64_t column = line.is_row ? i : line.index;
            if (contains(part, row, column) || results.written.symmetric) visit(values[i], row, column);
        }
    };
    double largest = 0;
    for_each_written([&](Number<Real>& value, std::int64_t row, std::int64_t column) {
        value = factors.alpha() * value;
        if (!is_zero(beta)) {
            Number<Real> old = mirrored_at<Real>(start, part, is_hermitian, row, column);
            if (is_hermitian && results.written.symmetric && row == column)
                old.im = 0.0;  // BLAS takes the imaginary part as 0
            value = value + beta * old;
        }
        largest =
            std::max({largest, std::abs(static_cast<double>(value.re)), std::abs(static_cast<double>(value.im))});
    });
    double scale = sums.scale;
    if (scale == 0) scale = std::isnormal(largest) ? power_of_two(-StoredNumber(&largest, true).exponent()) : 1;
    for_each_written([&](const Number<Real>& reference, std::int64_t row, std::int64_t column) {
        const auto difference = [&](const Matrix& matrix) {
            const Number<Real> value = mirrored_at<Real>(matrix, part, is_hermitian, row, column);
            return square(Number<Real>{value.re - reference.re, value.im - reference.im}, scale);
        };
        sums.tested += difference(results.tested);
        sums.exact += difference(results.exact);
        sums.reference += square(reference, scale);
    });
}

template <class Real>
const Real* multiply_in(const Level3& product, const Matrix& start, char* memory) {
    const DenseFactors<Real> factors(product, start);
    const std::int64_t rows = start.rows;
    const std::int64_t summed = factors.summed();
    const std::int64_t columns = start.columns;
    const bool is_complex = product.is_complex;
    // Real and imaginary parts are separate matrices. A complex product is a real one of twice the depth: re = [ar,
    // -ai] [br; bi], im = [ar, ai] [bi; br].
    const std::int64_t depth = is_complex ? 2 * summed : summed;
    auto* const left = reinterpret_cast<Real*>(memory);
    Real* const right = left + rows * depth;
    Real* const sum = right + depth * columns;
    Real* const result = sum + rows * columns;
    const bool adds_start = !is_zero(factors.beta());
    const bool is_hermitian = is_hermitian_update(product.operation);
    const int width = is_complex ? 2 : 1;

    const auto fill = [&](bool imaginary) {
        for (std::int64_t i = 0; i < rows; ++i)
            for (std::int64_t p = 0; p < summed; ++p) {
                const Number<Real> x = factors.left(i, p);
                left[i * depth + p] = x.re;
                if (is_complex) left[i * depth + summed + p] = imaginary ? x.im : -x.im;
            }
        for (std::int64_t p = 0; p < summed; ++p)
            for (std::int64_t j = 0; j < columns; ++j) {
                const Number<Real> y = factors.right(p, j);
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
            Number<Real> value = factors.alpha() * Number<Real>{at[0], is_complex ? at[1] : Real(0)};
            if (adds_start) {
                auto old = element_at<Number<Real>>(start, i, j);
                if (is_hermitian && i == j) old.im = 0.0;  // BLAS takes the imaginary part as 0
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
    const std::size_t size = result.is_double ? sizeof(Number<DoubleDouble>) : sizeof(Number<double>);
    return static_cast<std::size_t>(std::max(result.rows, result.columns)) * size;
}

void add_line(const Level3& product, const Matrix& start, const Results& results, Line line, char* memory,
              LineSums& sums) {
    if (product.is_double)
        add_line_in<DoubleDouble>(product, start, results, line, memory, sums);
    else
        add_line_in<double>(product, start, results, line, memory, sums);
}

bool store_operand_exponents(const Level3& product, const Matrix& a, const Matrix& b, const Matrix& start,
                             OperandExponents& operands, record::Audit& audit) {
    operands = {};
    bool all_finite = has_finite_scalars(product);
    all_finite &= add_exponents(a, part_of_a(product), operands.a, has_unit_diagonal(product));
    if (b.data != nullptr) all_finite &= add_exponents(b, Part::whole, operands.b);
    if (start.data != nullptr) all_finite &= add_exponents(start, written_of(product), operands.c);
    const auto widen = [](record::ExponentRange& sum, const record::ExponentRange& more) {
        sum = {std::min(sum.lowest, more.lowest), std::max(sum.highest, more.highest)};
    };
    widen(audit.a, operands.a);
    widen(audit.b, operands.b);
    widen(audit.c, operands.c);
    if (!all_finite) audit.flags |= record::audit_bad_operand;
    return all_finite;
}

bool fits_reference(const Level3& product, const OperandExponents& operands) {
    if (!product.is_double) return true;
    const auto exponents_of = [](const void* scalar, bool is_pair) {
        record::ExponentRange exponents{};
        exponents = {0, 0};
        bool is_first = true;
        for (int i = 0; scalar != nullptr && i < (is_pair ? 2 : 1); ++i) {
            const StoredNumber number(scalar, true, i);
            if (number.is_zero()) continue;
            const auto exponent = static_cast<std::int16_t>(number.exponent());
            exponents = {is_first ? exponent : std::min(exponents.lowest, exponent),
                         is_first ? exponent : std::max(exponents.highest, exponent)};
            is_first = false;
        }
        return exponents;
    };
    const record::ExponentRange alpha = exponents_of(product.alpha, has_pair(product, false));
    const record::ExponentRange beta = exponents_of(product.beta, has_pair(product, true));
    // syrk and herk have A on both sides; a matrix of zeros has no exponents, and makes no terms.
    const record::ExponentRange& b = operands.b.lowest > operands.b.highest ? operands.a : operands.b;
    const int lowest = std::min(0 + operands.a.lowest, 0 + b.lowest);
    const int lowest_term = operands.a.lowest + b.lowest;
    if (std::max({operands.a.highest, b.highest, operands.c.highest, alpha.highest, beta.highest}) >=
        safe_exponent_of_double_double)
        return false;
    constexpr int least = -1022 + 53;  // the last digits of a product are normal numbers
    return std::min({lowest, lowest_term, lowest_term + alpha.lowest, lowest + alpha.lowest,
                     operands.c.lowest + beta.lowest}) >= least;
}

ReferenceMatrix multiply_for_reference(const Level3& product, const Matrix& start, char* memory) {
    if (product.is_double) return {nullptr, multiply_in<DoubleDouble>(product, start, memory), start.inner()};
    return {multiply_in<double>(product, start, memory), nullptr, start.inner()};
}

}  // namespace fp32shim::blas
