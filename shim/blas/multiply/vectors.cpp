#include "shim/blas/multiply/vectors.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <type_traits>
#include <utility>

#include "shim/audit/float_environment.hpp"
#include "shim/blas/multiply/loops.hpp"
#include "shim/level3/matrix.hpp"
#include "shim/level3/operand_view.hpp"
#include "shim/level3/roles.hpp"

namespace fp32shim::blas {
namespace {

/// Returns a vector as the BLAS describes it: with a negative increment, its first element is the last in memory.
template <class Real>
Elements<Real> elements(const void* data, std::int64_t increment, std::int64_t count, int width) {
    auto* const first = static_cast<Real*>(const_cast<void*>(data));
    return {increment < 0 ? first - (count - 1) * increment * width : first, increment, count};
}

/// The matrix of a product, as op() makes it.
template <class Real>
struct LeftFactor {
    enum class Shape : std::uint8_t { whole, symmetric, triangular };

    const Real* data = nullptr;
    std::int64_t of_row = 0;  ///< distances of elements
    std::int64_t of_column = 0;
    int width = 1;
    bool conjugates = false;
    Shape shape = Shape::whole;
    Part stored = Part::whole;
    bool is_hermitian = false;
    bool has_unit_diagonal = false;

    const Real* at(std::int64_t row, std::int64_t column) const {
        return data + (row * of_row + column * of_column) * width;
    }
};

/// Stores the numbers by which the loops multiply elements for one element of a vector: for the real and, of a
/// complex element, the imaginary part of the sum. Either side may be conjugated.
template <class Real>
void set_factors(const Real* element, int width, bool conjugates_left, bool conjugates_element, Real* of_real,
                 Real* of_imaginary) {
    const Real re = of_real[0] = element[0];
    if (width == 1) return;
    const Real im = conjugates_element ? -element[1] : element[1];
    of_real[1] = conjugates_left ? im : -im;
    of_imaginary[0] = im;
    of_imaginary[1] = conjugates_left ? -re : re;
}

/// A product of a matrix and a vector.
template <class Real>
class VectorProduct {
  public:
    VectorProduct(const VectorLoops<Real>& loops, const LeftFactor<Real>& a, const Elements<const Real>& x)
        : loops_(loops), a_(a), x_(x) {}

    /// Sets the result to alpha A x + beta result.
    void run(const Elements<Real>& result, const Real* alpha, const Real* beta) const {
        const bool is_scaled_only = alpha[0] == 0 && (width() == 1 || alpha[1] == 0);
        if (is_scaled_only && beta[0] == 1 && (width() == 1 || beta[1] == 0)) return;
        if (a_.shape == LeftFactor<Real>::Shape::symmetric && !is_scaled_only)
            return run_symmetric(result, alpha, beta);
        run_by_rows(result, alpha, beta, is_scaled_only);
    }

    /// Does that some rows at a time.
    [[gnu::noinline]] void run_by_rows(const Elements<Real>& result, const Real* alpha, const Real* beta,
                                       bool is_scaled_only) const {
        constexpr Real one[] = {1, 0};
        alignas(64) Real sums[numbers_of_sums];
        // Long rows are read from their beginning to their end, a few at once.
        constexpr std::int64_t few_rows = 16;
        const bool are_long = a_.shape == LeftFactor<Real>::Shape::whole && a_.of_row != 1;
        const std::int64_t step = are_long ? few_rows : rows_at_once();
        for (std::int64_t i = 0; i < result.count; i += step) {
            const IndexRange rows{i, std::min(i + step, result.count)};
            const Elements<Real> part{result.data + i * result.increment * width(), result.increment, rows.count()};
            for (std::int64_t j = 0; j < x_.count; j += columns_at_once()) {
                std::fill_n(sums, rows.count() * width(), Real{0});
                if (!is_scaled_only) add(rows, {j, std::min(j + columns_at_once(), x_.count)}, sums);
                loops_.add_to_result[width() - 1](sums, part, alpha, j == 0 ? beta : one);
                if (is_scaled_only) break;
            }
        }
    }

    /// Does that for a symmetric or Hermitian A, of which each part beside the diagonal is read from memory once: for
    /// its rows, and as its mirror image.
    [[gnu::noinline]] void run_symmetric(const Elements<Real>& result, const Real* alpha, const Real* beta) const {
        constexpr Real one[] = {1, 0};
        constexpr std::int64_t few_rows = 32;  // a part stays in a cache
        alignas(64) Real own_sums[summed_at_once];
        alignas(64) Real sums[few_rows * 2];
        const auto add_to_result = [&](IndexRange rows, const Real* of_rows, const Real* by) {
            loops_.add_to_result[width() - 1](
                of_rows, {result.data + rows.begin * result.increment * width(), result.increment, rows.count()},
                alpha, by);
        };
        for (std::int64_t i = 0; i < result.count; i += columns_at_once()) {
            const IndexRange own{i, std::min(i + columns_at_once(), result.count)};
            const Real* const scale = i == 0 ? beta : one;
            const auto begin_own_sums = [&] { std::fill_n(own_sums, own.count() * width(), Real{0}); };
            begin_own_sums();
            add(own, own, own_sums);
            add_to_result(own, own_sums, scale);
            for (std::int64_t j = own.end; j < result.count; j += columns_at_once()) {
                begin_own_sums();
                const std::int64_t end = std::min(j + columns_at_once(), result.count);
                for (std::int64_t first = j; first < end; first += few_rows) {
                    const IndexRange others{first, std::min(first + few_rows, end)};
                    std::fill_n(sums, others.count() * width(), Real{0});
                    add(others, own, sums);
                    add_to_result(others, sums, scale);
                    add(own, others, own_sums);
                }
                add_to_result(own, own_sums, one);
            }
        }
    }

    /// Sets the vector to A x, with A triangular. Rows are computed in an order in which those that are overwritten
    /// are not read any more.
    void run_in_place(const Elements<Real>& result) const {
        const bool is_upper = a_.stored == Part::upper;
        const std::int64_t step = rows_at_once() / 2;
        const std::int64_t groups = (result.count + step - 1) / step;
        constexpr Real one[] = {1, 0};
        constexpr Real zero[] = {0, 0};
        alignas(64) Real sums[numbers_of_sums];
        Real* const total = sums + numbers_of_sums / 2;
        for (std::int64_t group = 0; group < groups; ++group) {
            const std::int64_t i = (is_upper ? group : groups - 1 - group) * step;
            const IndexRange rows{i, std::min(i + step, result.count)};
            const std::int64_t numbers = rows.count() * width();
            std::fill_n(total, numbers, Real{0});
            const std::int64_t first = is_upper ? i / columns_at_once() * columns_at_once() : 0;
            for (std::int64_t j = first; j < (is_upper ? result.count : rows.end); j += columns_at_once()) {
                std::fill_n(sums, numbers, Real{0});
                add(rows, {j, std::min(j + columns_at_once(), result.count)}, sums);
                // As in a matrix product, so that -0 does not depend on the zeros of a triangle.
                const std::int64_t end = std::min(j + columns_at_once(), result.count);
                for (std::int64_t n = 0; n < numbers; ++n) {
                    const std::int64_t row = i + n / width();
                    if (is_upper ? row > j : row < end - 1) sums[n] = sums[n] == 0 ? 0 : sums[n];
                }
                loops_.add_to_result[width() - 1](sums, {total, 1, rows.count()}, one, one);
            }
            loops_.add_to_result[width() - 1](
                total, {result.data + i * result.increment * width(), result.increment, rows.count()}, one, zero);
        }
    }

    /// Adds the terms of some columns to the sums of some rows, which begin at `sums`.
    [[gnu::noinline]] void add(IndexRange rows, IndexRange columns, Real* sums) const {
        if (rows.begin >= rows.end || columns.begin >= columns.end) return;
        const bool is_beside_diagonal = rows.end <= columns.begin || rows.begin >= columns.end;
        if (a_.shape == LeftFactor<Real>::Shape::whole || is_beside_diagonal) {
            const bool is_stored = contains(a_.stored, rows.begin, columns.begin);
            if (is_stored || a_.shape == LeftFactor<Real>::Shape::symmetric)
                add_rectangle(rows, columns, !is_stored, sums);
            return;
        }
        // Divide both ranges at one place, until they are equal or beside the diagonal, and then while they are long.
        constexpr std::int64_t small = small_square;
        const bool is_square = rows.begin == columns.begin && rows.end == columns.end;
        if (is_square && rows.count() <= small) return add_small_square(rows, sums);
        const std::int64_t at = is_square ? rows.begin + (rows.count() / 2 + small - 1) / small * small
                                : rows.begin != columns.begin ? std::max(rows.begin, columns.begin)
                                                              : std::min(rows.end, columns.end);
        const auto before = [&](IndexRange range) { return IndexRange{range.begin, std::min(range.end, at)}; };
        const auto after = [&](IndexRange range) { return IndexRange{std::max(range.begin, at), range.end}; };
        Real* const later = sums + (after(rows).begin - rows.begin) * width();
        add(before(rows), before(columns), sums);
        add(before(rows), after(columns), sums);
        add(after(rows), before(columns), later);
        add(after(rows), after(columns), later);
    }

  private:
    /// 2 KiB, or half of it: a thread may have 16 KiB of stack.
    static constexpr std::int64_t numbers_of_sums = 2048 / sizeof(Real);
    static constexpr std::int64_t small_square = 8;

    int width() const { return a_.width; }
    std::int64_t rows_at_once() const { return numbers_of_sums / width(); }
    std::int64_t columns_at_once() const { return summed_at_once / width(); }

    /// Adds the terms of some columns of A. The factors by which the loops multiply them are elements of x, where
    /// they are, or copies of some at a time: a thread may have little stack.
    [[gnu::noinline]] void add_product(PartOfMatrix<Real> part, IndexRange columns, bool conjugates,
                                       Real* sums) const {
        const auto& add = loops_.add_product[width() - 1];
        const Real* from = x_.data + columns.begin * x_.increment * width();
        if (width() == 1 && x_.increment == 1) return add(part, from, sums);
        constexpr std::int64_t at_once = 64;
        Real factors[4 * at_once];
        for (std::int64_t left = part.columns; left > 0; left -= at_once) {
            part.columns = std::min(at_once, left);
            for (std::int64_t j = 0; j < part.columns; ++j, from += x_.increment * width())
                set_factors(from, width(), conjugates, false, factors + j * width(),
                            factors + (part.columns + j) * width());
            add(part, factors, sums);
            part.data += part.columns * part.of_column * width();
        }
    }

    void add_rectangle(IndexRange rows, IndexRange columns, bool is_mirrored, Real* sums) const {
        const bool conjugates = a_.conjugates != (is_mirrored && a_.is_hermitian);
        if (is_mirrored)
            return add_product(
                {a_.at(columns.begin, rows.begin), a_.of_column, a_.of_row, rows.count(), columns.count()}, columns,
                conjugates, sums);
        add_product({a_.at(rows.begin, columns.begin), a_.of_row, a_.of_column, rows.count(), columns.count()},
                    columns, conjugates, sums);
    }

    /// Adds a square at the diagonal from a copy. Of a triangle, only the elements that it has are read and added.
    [[gnu::noinline]] void add_small_square(IndexRange range, Real* sums) const {
        Real square[small_square * small_square * 2];
        const bool is_symmetric = a_.shape == LeftFactor<Real>::Shape::symmetric;
        const std::int64_t size = range.count();
        const auto stored = [&](std::int64_t column) {
            return a_.stored == Part::upper ? IndexRange{0, column + 1} : IndexRange{column, size};
        };
        const auto copy_at = [&](std::int64_t row, std::int64_t column) {
            return square + (row + column * small_square) * width();
        };
        for (std::int64_t j = 0; j < size; ++j)
            for (std::int64_t i = stored(j).begin; i < stored(j).end; ++i) {
                const Real* const from = a_.at(range.begin + i, range.begin + j);
                const bool is_diagonal = i == j;
                Real* const to = copy_at(i, j);
                Real* const mirrored = copy_at(j, i);
                to[0] = is_diagonal && a_.has_unit_diagonal ? 1 : from[0];
                if (is_symmetric) mirrored[0] = from[0];
                if (width() == 1) continue;
                to[1] = is_diagonal && (a_.has_unit_diagonal || a_.is_hermitian) ? 0
                        : a_.conjugates                                          ? -from[1]
                                                                                 : from[1];
                if (is_symmetric && !is_diagonal) mirrored[1] = a_.is_hermitian ? -from[1] : from[1];
            }
        if (is_symmetric) return add_product({square, 1, small_square, size, size}, range, false, sums);
        for (std::int64_t j = 0; j < size; ++j) {
            const IndexRange rows = stored(j);
            add_product({copy_at(rows.begin, j), 1, small_square, rows.count(), 1},
                        {range.begin + j, range.begin + j + 1}, false, sums + rows.begin * width());
        }
    }

    const VectorLoops<Real>& loops_;
    const LeftFactor<Real>& a_;
    Elements<const Real> x_;
};

template <class Real>
LeftFactor<Real> left_factor(const Level3& product) {
    using Factor = LeftFactor<Real>;
    Factor a{static_cast<const Real*>(product.a)};
    const bool is_transposed = transposes(product.trans_a);
    const bool rows_are_adjacent = is_transposed == product.row_major;
    a.of_row = rows_are_adjacent ? 1 : product.lda;
    a.of_column = rows_are_adjacent ? product.lda : 1;
    a.width = product.is_complex ? 2 : 1;
    a.conjugates = conjugates(product.trans_a);
    if (product.operation == Operation::gemv) return a;
    a.shape = product.operation == Operation::trmv ? Factor::Shape::triangular : Factor::Shape::symmetric;
    a.stored = (product.uplo == 'U') != is_transposed ? Part::upper : Part::lower;
    a.is_hermitian = product.operation == Operation::hemv;
    a.has_unit_diagonal = product.diag == 'U';
    return a;
}

template <class Real>
void multiply_matrix(const Level3& product, const VectorLoops<Real>& loops) {
    const LeftFactor<Real> a = left_factor<Real>(product);
    const bool is_rectangular = product.operation == Operation::gemv;
    const bool is_transposed = is_rectangular && transposes(product.trans_a);
    const std::int64_t rows = is_rectangular && !is_transposed ? product.m : product.n;
    const std::int64_t columns = is_transposed ? product.m : product.n;
    const auto x = elements<const Real>(product.b, product.ldb, columns, a.width);
    const VectorProduct<Real> whole(loops, a, x);
    if (product.operation == Operation::trmv)
        return whole.run_in_place(elements<Real>(product.b, product.ldb, rows, a.width));
    if (columns > 0)
        whole.run(elements<Real>(product.c, product.ldc, rows, a.width), static_cast<const Real*>(product.alpha),
                  static_cast<const Real*>(product.beta));
}

/// Calls `use(adjacent elements, index of the first, count)` with all elements of a vector, some of them at a time if
/// they are to be copied.
template <class Real, class Use>
void for_adjacent(const Elements<const Real>& x, int width, const Use& use) {
    Real copy[2048 / sizeof(Real)];
    const std::int64_t step = x.increment == 1 ? x.count : static_cast<std::int64_t>(std::size(copy)) / width;
    for (std::int64_t first = 0; first < x.count; first += step) {
        const std::int64_t count = std::min(step, x.count - first);
        const Real* const from = x.data + first * x.increment * width;
        for (std::int64_t i = 0; i < (x.increment == 1 ? 0 : count); ++i)
            std::copy_n(from + i * x.increment * width, width, copy + i * width);
        use(x.increment == 1 ? from : copy, first, count);
    }
}

template <class Real>
ElementOf<Real> alpha_of(const Level3& product) {
    return ElementOf<Real>::read(product.alpha, product.is_double, has_pair(product, false));
}

/// Computes C := alpha A B^T + C, or alpha A B^H + C, column by column, in the part of C that the operation forms. Of
/// a row-major C, the transposed product is computed.
template <class Real>
void add_outer(const Level3& product, const VectorLoops<Real>& loops, Elements<const Real> left,
               Elements<const Real> right, ElementOf<Real> alpha) {
    const int width = product.is_complex ? 2 : 1;
    const Real parts[] = {alpha.re, alpha.im};
    const bool is_hermitian = product.operation == Operation::her || product.operation == Operation::her2;
    const bool is_conjugated = is_hermitian || product.operation == Operation::gerc;
    Part part = written_of(product);
    if (product.row_major) {
        std::swap(left, right);
        if (part != Part::whole) part = part == Part::upper ? Part::lower : Part::upper;
    }
    for_adjacent(left, width, [&](const Real* x, std::int64_t first, std::int64_t count) {
        for (std::int64_t j = 0; j < right.count; ++j) {
            const std::int64_t begin = part == Part::lower ? std::clamp(j, first, first + count) : first;
            const std::int64_t end = part == Part::upper ? std::clamp(j + 1, first, first + count) : first + count;
            if (begin >= end) continue;
            Real factors[4];
            set_factors(right.data + j * right.increment * width, width, is_conjugated && product.row_major,
                        is_conjugated && !product.row_major, factors, factors + 2);
            Real* const column = static_cast<Real*>(product.c) + j * product.ldc * width;
            const bool has_real_diagonal = is_hermitian && begin <= j && j < end;
            if (has_real_diagonal) column[j * width + 1] = 0;
            loops.add_multiple[width - 1](x + (begin - first) * width, end - begin, factors, parts,
                                          column + begin * width);
            if (has_real_diagonal) column[j * width + 1] = 0;
        }
    });
}

template <class Real>
void multiply_outer(const Level3& product, const VectorLoops<Real>& loops) {
    const auto alpha = alpha_of<Real>(product);
    if (is_zero(alpha)) return;
    const int width = product.is_complex ? 2 : 1;
    const std::int64_t rows = is_ger(product.operation) ? product.m : product.n;
    const auto a = elements<const Real>(product.a, product.lda, rows, width);
    if (!has_b(product.operation)) return add_outer(product, loops, a, a, alpha);
    const auto b = elements<const Real>(product.b, product.ldb, product.n, width);
    add_outer(product, loops, a, b, alpha);
    if (!is_ger(product.operation))
        add_outer(product, loops, b, a, product.operation == Operation::her2 ? conj(alpha) : alpha);
}

/// Computes C := alpha A + C.
template <class Real>
void add_multiple(const Level3& product, const VectorLoops<Real>& loops) {
    const auto alpha = alpha_of<Real>(product);
    if (is_zero(alpha) || product.k <= 0) return;
    const Real parts[] = {alpha.re, alpha.im};
    const int width = product.is_complex ? 2 : 1;
    constexpr Real one[] = {1, 0};
    const auto y = elements<Real>(product.c, product.ldc, product.k, width);
    for_adjacent(elements<const Real>(product.a, product.lda, product.k, width), width,
                 [&](const Real* x, std::int64_t first, std::int64_t count) {
                     const Elements<Real> part{y.data + first * y.increment * width, y.increment, count};
                     loops.add_to_result[width - 1](x, part, parts, one);
                 });
}

template <class Real>
void rotate(const Level3& product, const VectorLoops<Real>& loops) {
    if (product.k <= 0) return;
    const int width = product.is_complex ? 2 : 1;
    const Real cosine = *static_cast<const Real*>(product.alpha);
    const Real sine = *static_cast<const Real*>(product.beta);
    const auto x = elements<Real>(product.a, product.lda, product.k, width);
    const auto y = elements<Real>(product.b, product.ldb, product.k, width);
    loops.rotate[width - 1](x, y, cosine, sine);
}

/// Numbers whose squares overflow, or are too small, are first multiplied by a power of two. Libraries raise no flags
/// then, and a program may have asked for a signal.
template <class Real>
double root_of_squares(const VectorLoops<Real>& loops, const Elements<const Real>& x, int width) {
    const audit::QuietFloatEnvironment quiet(audit::QuietFloatEnvironment::Settings::as_the_program);
    const auto squares = loops.squares[width - 1];
    const double sum = squares(x, 1);
    constexpr double small = 0x1p-900;
    constexpr double up = 0x1p600;
    if (std::is_same_v<Real, float> || (sum >= small && sum <= std::numeric_limits<double>::max()) || std::isnan(sum))
        return std::sqrt(sum);
    return sum < small ? std::sqrt(squares(x, up)) / up : std::sqrt(squares(x, 1 / up)) * up;
}

template <class Real>
void sum_over_vectors(const Level3& product, const LoopsOfInstructionSet& all) {
    const VectorLoops<Real>& loops = all.of<Real>().vectors;
    const int width = product.is_complex ? 2 : 1;
    const std::int64_t count = std::max(product.k, std::int64_t{0});
    const auto a = elements<const Real>(product.a, product.lda, count, width);
    const auto b = elements<const Real>(product.b, product.ldb, count, width);
    auto* const result = static_cast<Real*>(product.c);
    switch (product.operation) {
        case Operation::dot:
            return loops.dot[width - 1](a, b, result);
        case Operation::dotc:
            return (width == 2 ? loops.dot_of_conjugate : loops.dot[0])(a, b, result);
        case Operation::asum:
            *result = a.increment > 0 ? static_cast<Real>(loops.magnitudes[width - 1](a)) : 0;
            return;
        case Operation::nrm2:
            *result = static_cast<Real>(root_of_squares(loops, a, width));
            return;
        default:
            break;
    }
    if constexpr (std::is_same_v<Real, float>) {
        if (product.operation == Operation::dsdot)
            *static_cast<double*>(product.c) = all.dot_in_double(a, b, 0);
        else
            *result = static_cast<float>(all.dot_in_double(a, b, *static_cast<const float*>(product.alpha)));
    }
}

template <class Real>
void multiply_vector(const Level3& product, const LoopsOfInstructionSet& all) {
    constexpr Operations with_matrix{Operation::gemv, Operation::symv, Operation::hemv, Operation::trmv};
    if (with_matrix.has(product.operation)) return multiply_matrix<Real>(product, all.of<Real>().vectors);
    if (is_ger(product.operation) || is_symmetric_update(product.operation))
        return multiply_outer<Real>(product, all.of<Real>().vectors);
    if (product.operation == Operation::axpy) return add_multiple<Real>(product, all.of<Real>().vectors);
    if (product.operation == Operation::rot) return rotate<Real>(product, all.of<Real>().vectors);
    sum_over_vectors<Real>(product, all);
}

bool multiply_vector(const Level3& product, const LoopsOfInstructionSet& loops) {
    product.is_double ? multiply_vector<double>(product, loops) : multiply_vector<float>(product, loops);
    return true;
}

}  // namespace

bool multiply_vector_in_fixed_order(const Level3& product) { return multiply_vector(product, best_loops()); }

bool multiply_vector_in_fixed_order(const Level3& product, InstructionSet instruction_set) {
    return multiply_vector(product, loops_of(instruction_set));
}

}  // namespace fp32shim::blas
