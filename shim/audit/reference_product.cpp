#include "shim/audit/reference_product.hpp"

#include <algorithm>
#include <cmath>

#include "shim/audit/double_double.hpp"
#include "shim/audit/roles.hpp"
#include "shim/level3/numbers.hpp"

namespace fp32shim::blas {
namespace {

/// A complex number. `Real` has the digits of the reference: float64 for float32 products, twice as many for float64.
template <class Real>
struct Number {
    Real re = 0;
    Real im = 0;
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
Number<Real> conj(Number<Real> x) {
    return {x.re, -x.im};
}

/// The shape of the two dense factors whose product is the result, apart from alpha and beta.
struct Shape {
    std::int64_t rows;
    std::int64_t summed;
    std::int64_t columns;
};

Shape shape_of(const Level3& product) {
    switch (product.operation) {
        case Operation::gemm:
            return {product.m, product.k, product.n};
        case Operation::gemmt:
        case Operation::syrk:
        case Operation::herk:
            return {product.n, product.k, product.n};
        case Operation::syr2k:
        case Operation::her2k:
            return {product.n, 2 * product.k, product.n};
        default:
            return {product.m, product.side == 'L' ? product.m : product.n, product.n};
    }
}

template <class Real>
Number<Real> number_at(const void* at, bool is_double, bool is_pair) {
    return {StoredNumber(at, is_double).value(), is_pair ? StoredNumber(at, is_double, 1).value() : 0};
}

template <class Real>
Number<Real> number_at(const Matrix& matrix, std::int64_t row, std::int64_t column) {
    return number_at<Real>(matrix.at(row, column), matrix.is_double, matrix.is_complex);
}

template <class Real>
Number<Real> scalar(const Level3& product, const void* at, bool is_pair) {
    return at == nullptr ? Number<Real>{} : number_at<Real>(at, product.is_double, is_pair);
}

/// Alpha and beta of a product as sum of two dense factors' product and of C.
template <class Real>
struct Scalars {
    Number<Real> alpha;
    Number<Real> beta;
};

template <class Real>
Scalars<Real> scalars_of(const Level3& product) {
    const bool has_pairs = product.is_complex && product.operation != Operation::herk;
    const bool has_alpha_inside = product.operation == Operation::syr2k || product.operation == Operation::her2k;
    return {has_alpha_inside ? Number<Real>{1.0, 0.0} : scalar<Real>(product, product.alpha, has_pairs),
            scalar<Real>(product, product.beta, has_pairs && product.operation != Operation::her2k)};
}

template <class Real>
bool is_zero(Number<Real> x) {
    return static_cast<double>(x.re) == 0 && static_cast<double>(x.im) == 0;
}

/// An operand in its mathematical form: op() is applied, and triangles are completed.
template <class Real>
class Operand {
  public:
    Operand(const Matrix& matrix, char trans) : matrix_(matrix), trans_(trans) {}
    /// Makes a symmetric, Hermitian or triangular operand from its one stored triangle.
    Operand(const Level3& product, const Matrix& matrix)
        : matrix_(matrix), trans_(product.trans_a), product_(&product) {}

    Number<Real> at(std::int64_t row, std::int64_t column) const {
        const bool transposed = trans_ == 'T' || trans_ == 'C';
        const Number<Real> value = transposed ? stored(column, row) : stored(row, column);
        return trans_ == 'C' || trans_ == 'R' ? conj(value) : value;
    }

  private:
    Number<Real> stored(std::int64_t row, std::int64_t column) const {
        if (product_ == nullptr) return element(row, column);
        const bool is_there = product_->uplo == 'U' ? row <= column : row >= column;
        switch (product_->operation) {
            case Operation::symm:
                return is_there ? element(row, column) : element(column, row);
            case Operation::hemm:
                if (row == column) return {element(row, row).re, 0.0};
                return is_there ? element(row, column) : conj(element(column, row));
            default:  // trmm
                if (row == column && product_->diag == 'U') return {1.0, 0.0};
                return is_there ? element(row, column) : Number<Real>{};
        }
    }
    Number<Real> element(std::int64_t row, std::int64_t column) const {
        return number_at<Real>(matrix_, row, column);
    }

    Matrix matrix_;
    char trans_;
    const Level3* product_ = nullptr;
};

/// Calls `use` with functions `left(row, p)` and `right(p, column)` that return elements of the two factors.
template <class Real, class Use>
void with_factors(const Level3& product, const Matrix& start, const Use& use) {
    const Matrix a = operand_a(product);
    // An in-place trmm has overwritten its B, so `start` replaces it.
    const Matrix b = product.operation == Operation::trmm && product.c == nullptr ? start : operand_b(product);
    const bool hermitian = product.operation == Operation::herk || product.operation == Operation::her2k;
    const bool plain = product.trans_a == 'N';
    const char own = plain ? 'N' : hermitian ? 'C' : 'T';
    const char other = !plain ? 'N' : hermitian ? 'C' : 'T';
    const Number<Real> alpha =
        scalar<Real>(product, product.alpha, product.is_complex && product.operation != Operation::herk);
    switch (product.operation) {
        case Operation::gemm:
        case Operation::gemmt:
            return use(Operand<Real>(a, product.trans_a), Operand<Real>(b, product.trans_b));
        case Operation::syrk:
        case Operation::herk:
            return use(Operand<Real>(a, own), Operand<Real>(a, other));
        case Operation::syr2k:
        case Operation::her2k: {
            // alpha A B' + alpha' B A' is [alpha A, alpha' B] times [B, A]'.
            const Operand<Real> a_left(a, own), b_left(b, own), a_right(a, other), b_right(b, other);
            const std::int64_t k = product.k;
            const Number<Real> second = hermitian ? conj(alpha) : alpha;
            struct Left {
                const Operand<Real>&a, &b;
                std::int64_t k;
                Number<Real> alpha, second;
                Number<Real> at(std::int64_t row, std::int64_t p) const {
                    return p < k ? alpha * a.at(row, p) : second * b.at(row, p - k);
                }
            };
            struct Right {
                const Operand<Real>&a, &b;
                std::int64_t k;
                Number<Real> at(std::int64_t p, std::int64_t column) const {
                    return p < k ? b.at(p, column) : a.at(p - k, column);
                }
            };
            return use(Left{a_left, b_left, k, alpha, second}, Right{a_right, b_right, k});
        }
        default:
            if (product.side == 'L') return use(Operand<Real>(product, a), Operand<Real>(b, 'N'));
            return use(Operand<Real>(b, 'N'), Operand<Real>(product, a));
    }
}

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
    const bool is_stored = part == Part::whole || (part == Part::upper ? row <= column : row >= column);
    if (is_stored) return number_at<Real>(matrix, row, column);
    const Number<Real> mirror = number_at<Real>(matrix, column, row);
    return is_hermitian ? conj(mirror) : mirror;
}

/// Returns the square of scale * x.
template <class Real>
double square(Number<Real> x, double scale) {
    const double re = scale * static_cast<double>(x.re);
    const double im = scale * static_cast<double>(x.im);
    return re * re + im * im;
}

std::size_t parts_of(const Level3& product) { return product.is_complex ? 2 : 1; }

template <class Real>
void add_line_in(const Level3& product, const Matrix& start, const Results& results, Line line, char* memory,
                 LineSums& sums) {
    const auto [rows, summed, columns] = shape_of(product);
    const std::int64_t length = line.is_row ? columns : rows;
    auto* const values = reinterpret_cast<Number<Real>*>(memory);
    std::fill(values, values + length, Number<Real>{});
    with_factors<Real>(product, start, [&, depth = summed](const auto& a, const auto& b) {
        for (std::int64_t p = 0; p < depth; ++p) {
            const Number<Real> factor = line.is_row ? a.at(line.index, p) : b.at(p, line.index);
            for (std::int64_t i = 0; i < length; ++i)
                values[i] = values[i] + factor * (line.is_row ? b.at(p, i) : a.at(i, p));
        }
    });
    const auto [alpha, beta] = scalars_of<Real>(product);
    const bool is_hermitian = product.operation == Operation::herk || product.operation == Operation::her2k ||
                              product.trans_a == 'C' || product.trans_b == 'C';
    const Part part = results.written.part;
    const auto for_each_written = [&, count = length](const auto& visit) {
        for (std::int64_t i = 0; i < count; ++i) {
            const std::int64_t row = line.is_row ? line.index : i;
            const std::int64_t column = line.is_row ? i : line.index;
            const bool is_written = part == Part::whole || (part == Part::upper ? row <= column : row >= column);
            if (is_written || results.written.symmetric) visit(values[i], row, column);
        }
    };
    double largest = 0;
    for_each_written([&, by = alpha, of_start = beta](Number<Real>& value, std::int64_t row, std::int64_t column) {
        value = by * value;
        if (!is_zero(of_start)) {
            Number<Real> old = mirrored_at<Real>(start, part, is_hermitian, row, column);
            if (is_hermitian && results.written.symmetric && row == column) old.im = 0.0;  // BLAS takes it as 0
            value = value + of_start * old;
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
    const Shape shape = shape_of(product);
    const std::int64_t rows = shape.rows;
    const std::int64_t summed = shape.summed;
    const std::int64_t columns = shape.columns;
    const bool is_complex = product.is_complex;
    // Real and imaginary parts are separate matrices. A complex product is a real one of twice the depth: re = [ar,
    // -ai] [br; bi], im = [ar, ai] [bi; br].
    const std::int64_t depth = is_complex ? 2 * summed : summed;
    auto* const left = reinterpret_cast<Real*>(memory);
    Real* const right = left + rows * depth;
    Real* const sum = right + depth * columns;
    Real* const result = sum + rows * columns;
    const auto [alpha, beta] = scalars_of<Real>(product);
    const bool adds_start = !is_zero(beta);
    const bool is_hermitian = product.operation == Operation::herk || product.operation == Operation::her2k;
    const int width = is_complex ? 2 : 1;

    const auto fill = [&](bool imaginary) {
        with_factors<Real>(product, start, [&](const auto& a, const auto& b) {
            for (std::int64_t i = 0; i < rows; ++i)
                for (std::int64_t p = 0; p < summed; ++p) {
                    const Number<Real> x = a.at(i, p);
                    left[i * depth + p] = x.re;
                    if (is_complex) left[i * depth + summed + p] = imaginary ? x.im : -x.im;
                }
            for (std::int64_t p = 0; p < summed; ++p)
                for (std::int64_t j = 0; j < columns; ++j) {
                    const Number<Real> y = b.at(p, j);
                    right[p * columns + j] = imaginary ? y.im : y.re;
                    if (is_complex) right[(summed + p) * columns + j] = imaginary ? y.re : y.im;
                }
        });
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
            Number<Real> value = alpha * Number<Real>{at[0], is_complex ? at[1] : Real(0)};
            if (adds_start) {
                Number<Real> old = number_at<Real>(start, i, j);
                if (is_hermitian && i == j) old.im = 0.0;  // BLAS takes it as 0
                value = value + beta * old;
            }
            at[0] = value.re;
            if (is_complex) at[1] = value.im;
        }
    return result;
}

}  // namespace

std::size_t bytes_for_reference(const Level3& product) {
    const auto [rows, summed, columns] = shape_of(product);
    const double numbers = static_cast<double>(rows) * static_cast<double>(summed) +
                           static_cast<double>(summed) * static_cast<double>(columns) +
                           2 * static_cast<double>(rows) * static_cast<double>(columns);
    const std::size_t size = product.is_double ? sizeof(DoubleDouble) : sizeof(double);
    const double bytes = numbers * static_cast<double>(size * parts_of(product));
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

bool fits_reference(const Level3& product, const OperandExponents& operands) {
    if (!product.is_double) return true;
    const auto exponents_of = [](const void* scalar, bool is_pair) {
        record::Exponents exponents{};
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
    const record::Exponents alpha = exponents_of(product.alpha, has_pair(product, false));
    const record::Exponents beta = exponents_of(product.beta, has_pair(product, true));
    // syrk and herk have A on both sides; a matrix of zeros has no exponents, and makes no terms.
    const record::Exponents& b = operands.b.lowest > operands.b.highest ? operands.a : operands.b;
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
