#include "shim/audit/fp64_product.hpp"

#include <algorithm>

namespace fp32shim::blas {
namespace {

struct Number {
    double re = 0;
    double im = 0;
};

Number operator+(Number x, Number y) { return {x.re + y.re, x.im + y.im}; }
Number operator*(Number x, Number y) { return {x.re * y.re - x.im * y.im, x.re * y.im + x.im * y.re}; }
Number conj(Number x) { return {x.re, -x.im}; }

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

Number number_at(const float* at, int width) {
    return {static_cast<double>(at[0]), width == 2 ? static_cast<double>(at[1]) : 0};
}

Number scalar(const void* at, bool is_pair) {
    return at == nullptr ? Number{} : number_at(static_cast<const float*>(at), is_pair ? 2 : 1);
}

/// Alpha and beta of a product as sum of two dense factors' product and of C.
struct Scalars {
    Number alpha;
    Number beta;
};

Scalars scalars_of(const Level3& product) {
    const bool has_pairs = product.is_complex && product.operation != Operation::herk;
    const bool has_alpha_inside = product.operation == Operation::syr2k || product.operation == Operation::her2k;
    return {has_alpha_inside ? Number{1, 0} : scalar(product.alpha, has_pairs),
            scalar(product.beta, has_pairs && product.operation != Operation::her2k)};
}

/// An operand in its mathematical form: op() is applied, and triangles are completed.
class Operand {
  public:
    Operand(const Matrix& matrix, char trans) : matrix_(matrix), trans_(trans) {}
    /// Makes a symmetric, Hermitian or triangular operand from its one stored triangle.
    Operand(const Level3& product, const Matrix& matrix)
        : matrix_(matrix), trans_(product.trans_a), product_(&product) {}

    Number at(std::int64_t row, std::int64_t column) const {
        const bool transposed = trans_ == 'T' || trans_ == 'C';
        const Number value = transposed ? stored(column, row) : stored(row, column);
        return trans_ == 'C' || trans_ == 'R' ? conj(value) : value;
    }

  private:
    Number stored(std::int64_t row, std::int64_t column) const {
        if (product_ == nullptr) return element(row, column);
        const bool is_there = product_->uplo == 'U' ? row <= column : row >= column;
        switch (product_->operation) {
            case Operation::symm:
                return is_there ? element(row, column) : element(column, row);
            case Operation::hemm:
                if (row == column) return {element(row, row).re, 0};
                return is_there ? element(row, column) : conj(element(column, row));
            default:  // trmm
                if (row == column && product_->diag == 'U') return {1, 0};
                return is_there ? element(row, column) : Number{};
        }
    }
    Number element(std::int64_t row, std::int64_t column) const {
        return number_at(matrix_.at(row, column), matrix_.width);
    }

    Matrix matrix_;
    char trans_;
    const Level3* product_ = nullptr;
};

/// Calls `use` with functions `left(row, p)` and `right(p, column)` that return elements of the two factors.
template <class Use>
void with_factors(const Level3& product, const Matrix& start, const Use& use) {
    const Matrix a = operand_a(product);
    // An in-place trmm has overwritten its B, so `start` replaces it.
    const Matrix b = product.operation == Operation::trmm && product.c == nullptr ? start : operand_b(product);
    const bool hermitian = product.operation == Operation::herk || product.operation == Operation::her2k;
    const bool plain = product.trans_a == 'N';
    const char own = plain ? 'N' : hermitian ? 'C' : 'T';
    const char other = !plain ? 'N' : hermitian ? 'C' : 'T';
    const Number alpha = scalar(product.alpha, product.is_complex && product.operation != Operation::herk);
    switch (product.operation) {
        case Operation::gemm:
        case Operation::gemmt:
            return use(Operand(a, product.trans_a), Operand(b, product.trans_b));
        case Operation::syrk:
        case Operation::herk:
            return use(Operand(a, own), Operand(a, other));
        case Operation::syr2k:
        case Operation::her2k: {
            // alpha A B' + alpha' B A' is [alpha A, alpha' B] times [B, A]'.
            const Operand a_left(a, own), b_left(b, own), a_right(a, other), b_right(b, other);
            const std::int64_t k = product.k;
            const Number second = hermitian ? conj(alpha) : alpha;
            struct Left {
                const Operand &a, &b;
                std::int64_t k;
                Number alpha, second;
                Number at(std::int64_t row, std::int64_t p) const {
                    return p < k ? alpha * a.at(row, p) : second * b.at(row, p - k);
                }
            };
            struct Right {
                const Operand &a, &b;
                std::int64_t k;
                Number at(std::int64_t p, std::int64_t column) const {
                    return p < k ? b.at(p, column) : a.at(p - k, column);
                }
            };
            return use(Left{a_left, b_left, k, alpha, second}, Right{a_right, b_right, k});
        }
        default:
            if (product.side == 'L') return use(Operand(product, a), Operand(b, 'N'));
            return use(Operand(b, 'N'), Operand(product, a));
    }
}

/// Adds A times B to rows of C, all dense. Each row of A has `depth` numbers, each row of B and C `columns`.
void add_product(const double* a, const double* b, double* c, std::int64_t rows, std::int64_t depth,
                 std::int64_t columns) {
    constexpr std::int64_t block = 64;  // rows of B that stay in the cache
    for (std::int64_t first = 0; first < depth; first += block) {
        const std::int64_t last = std::min(first + block, depth);
        for (std::int64_t i = 0; i < rows; ++i) {
            double* const row = c + i * columns;
            for (std::int64_t p = first; p < last; ++p) {
                const double factor = a[i * depth + p];
                const double* const line = b + p * columns;
                for (std::int64_t j = 0; j < columns; ++j) row[j] += factor * line[j];
            }
        }
    }
}

/// Returns the element of `matrix` that a row and column stand for: its mirror image, in a triangle that is not
/// stored.
Number mirrored_at(const Matrix& matrix, Part part, bool is_hermitian, std::int64_t row, std::int64_t column) {
    const bool is_stored = part == Part::whole || (part == Part::upper ? row <= column : row >= column);
    if (is_stored) return number_at(matrix.at(row, column), matrix.width);
    const Number mirror = number_at(matrix.at(column, row), matrix.width);
    return is_hermitian ? conj(mirror) : mirror;
}

double square(Number x) { return x.re * x.re + x.im * x.im; }

std::size_t parts_of(const Level3& product) { return product.is_complex ? 2 : 1; }

}  // namespace

std::size_t bytes_for_fp64_product(const Level3& product) {
    const auto [rows, summed, columns] = shape_of(product);
    const double numbers = static_cast<double>(rows) * static_cast<double>(summed) +
                           static_cast<double>(summed) * static_cast<double>(columns) +
                           2 * static_cast<double>(rows) * static_cast<double>(columns);
    const double bytes = numbers * sizeof(double) * static_cast<double>(parts_of(product));
    return bytes < 0x1p62 ? static_cast<std::size_t>(bytes) : SIZE_MAX;
}

std::size_t bytes_for_line(const Matrix& result) {
    return static_cast<std::size_t>(std::max(result.rows, result.columns)) * sizeof(Number);
}

void add_line(const Level3& product, const Matrix& start, const Results& results, Line line, char* memory,
              LineSums& sums) {
    const auto [rows, summed, columns] = shape_of(product);
    const std::int64_t length = line.is_row ? columns : rows;
    auto* const values = reinterpret_cast<Number*>(memory);
    std::fill(values, values + length, Number{});
    with_factors(product, start, [&, depth = summed](const auto& a, const auto& b) {
        for (std::int64_t p = 0; p < depth; ++p) {
            const Number factor = line.is_row ? a.at(line.index, p) : b.at(p, line.index);
            for (std::int64_t i = 0; i < length; ++i)
                values[i] = values[i] + factor * (line.is_row ? b.at(p, i) : a.at(i, p));
        }
    });
    const auto [alpha, beta] = scalars_of(product);
    const bool is_hermitian = product.operation == Operation::herk || product.operation == Operation::her2k ||
                              product.trans_a == 'C' || product.trans_b == 'C';
    const Part part = results.written.part;
    for (std::int64_t i = 0; i < length; ++i) {
        const std::int64_t row = line.is_row ? line.index : i;
        const std::int64_t column = line.is_row ? i : line.index;
        const bool is_written = part == Part::whole || (part == Part::upper ? row <= column : row >= column);
        if (!is_written && !results.written.symmetric) continue;
        Number exact = alpha * values[i];
        if (square(beta) != 0) exact = exact + beta * mirrored_at(start, part, is_hermitian, row, column);
        const auto difference = [&](const Matrix& matrix) {
            return square(mirrored_at(matrix, part, is_hermitian, row, column) + Number{-1, 0} * exact);
        };
        sums.tested += difference(results.tested);
        sums.fp32 += difference(results.fp32);
        sums.reference += square(exact);
    }
}

Fp64Matrix multiply_in_fp64(const Level3& product, const Matrix& start, char* memory) {
    const Shape shape = shape_of(product);
    const std::int64_t rows = shape.rows;
    const std::int64_t summed = shape.summed;
    const std::int64_t columns = shape.columns;
    const bool is_complex = product.is_complex;
    // Real and imaginary parts are separate matrices. A complex product is a real one of twice the depth: re = [ar,
    // -ai] [br; bi], im = [ar, ai] [bi; br].
    const std::int64_t depth = is_complex ? 2 * summed : summed;
    auto* const left = reinterpret_cast<double*>(memory);
    double* const right = left + rows * depth;
    double* const sum = right + depth * columns;
    double* const result = sum + rows * columns;
    const auto [alpha, beta] = scalars_of(product);
    const bool adds_start = beta.re != 0 || beta.im != 0;
    const int width = is_complex ? 2 : 1;

    const auto fill = [&](bool imaginary) {
        with_factors(product, start, [&](const auto& a, const auto& b) {
            for (std::int64_t i = 0; i < rows; ++i)
                for (std::int64_t p = 0; p < summed; ++p) {
                    const Number x = a.at(i, p);
                    left[i * depth + p] = x.re;
                    if (is_complex) left[i * depth + summed + p] = imaginary ? x.im : -x.im;
                }
            for (std::int64_t p = 0; p < summed; ++p)
                for (std::int64_t j = 0; j < columns; ++j) {
                    const Number y = b.at(p, j);
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
        std::fill(sum, sum + rows * columns, 0.0);
        add_product(left, right, sum, rows, depth, columns);
        for (std::int64_t i = 0; i < rows; ++i)
            for (std::int64_t j = 0; j < columns; ++j) result[offset(i, j) + part] = sum[i * columns + j];
    }
    for (std::int64_t i = 0; i < rows; ++i)
        for (std::int64_t j = 0; j < columns; ++j) {
            double* const at = result + offset(i, j);
            Number value = alpha * Number{at[0], is_complex ? at[1] : 0};
            if (adds_start) value = value + beta * number_at(start.at(i, j), width);
            at[0] = value.re;
            if (is_complex) at[1] = value.im;
        }
    return {result, start.inner()};
}

}  // namespace fp32shim::blas
