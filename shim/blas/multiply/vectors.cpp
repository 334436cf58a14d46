#include "shim/blas/multiply/vectors.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "shim/blas/multiply/loops.hpp"
#include "shim/blas/multiply/parallel_for.hpp"
#include "shim/level3/matrix.hpp"
#include "shim/level3/operand_view.hpp"
#include "shim/level3/roles.hpp"

namespace fp32shim::blas {
namespace {

/// The matrix op(A) in a product of a matrix and a vector.
template <class Real>
struct MatrixFactor {
    enum class Shape : std::uint8_t { whole, symmetric, triangular };

    const Real* data = nullptr;
    std::int64_t of_row = 0;  ///< distance between two rows, in elements
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

/// Stores the factors by which the loops multiply elements of the matrix for one element of the vector: the factors
/// for the real part of the sum in `of_real`, and, if the elements are complex, those for the imaginary part in
/// `of_imaginary`. The matrix and the element may each be conjugated.
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

template <class Real>
MatrixFactor<Real> matrix_factor(const Level3& product) {
    using Factor = MatrixFactor<Real>;
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

/// A product of a matrix and a vector. The object refers only to the numbers of the matrix and the vectors, and to no
/// other memory of the call, so that threads may have copies of the object.
template <class Real>
class MatrixVectorProduct {
    using Shape = typename MatrixFactor<Real>::Shape;

  public:
    MatrixVectorProduct(const Level3& product, const VectorLoops<Real>& loops)
        : loops_(loops), a_(matrix_factor<Real>(product)) {
        const bool is_rectangular = a_.shape == Shape::whole;
        const bool is_transposed = is_rectangular && transposes(product.trans_a);
        const std::int64_t rows = is_rectangular && !is_transposed ? product.m : product.n;
        x_ = strided_vector<const Real>(product.b, product.ldb, is_transposed ? product.m : product.n, width());
        if (a_.shape == Shape::triangular) {
            result_ = strided_vector<Real>(product.b, product.ldb, rows, width());
            return;
        }
        result_ = strided_vector<Real>(product.c, product.ldc, rows, width());
        std::copy_n(static_cast<const Real*>(product.alpha), width(), alpha_);
        std::copy_n(static_cast<const Real*>(product.beta), width(), beta_);
    }

    /// Sets the result to alpha A x + beta result, or to A x if A is triangular. Returns false, and changes nothing,
    /// if A is triangular and there is no memory for a copy of x, which the result overwrites.
    bool run(ThreadLimit threads) const {
        const bool is_scaled_only = alpha_[0] == 0 && alpha_[1] == 0;
        if (x_.count == 0 || (is_scaled_only && beta_[0] == 1 && beta_[1] == 0)) return true;
        if (is_scaled_only) return scale(), true;
        const bool is_triangular = a_.shape == Shape::triangular;
        if ((threads.count > 1 || is_triangular) && run_on_threads(threads)) return true;
        if (!is_triangular) run_part({0, a_.shape == Shape::symmetric ? pairs() : result_.count});
        return !is_triangular;
    }

  private:
    static constexpr Real one[] = {1, 0};
    /// The number of sums that are computed at once. They take 2 KiB, since a thread may have only 16 KiB of stack.
    static constexpr std::int64_t numbers_of_sums = 2048 / sizeof(Real);
    static constexpr std::int64_t few_rows = 16;
    static constexpr std::int64_t small_square = 8;

    int width() const { return a_.width; }
    std::int64_t rows_at_once() const { return numbers_of_sums / width(); }
    std::int64_t columns_at_once() const { return summed_at_once / width(); }
    std::int64_t columns_of_part() const { return summed_in_chain / width(); }
    IndexRange whole() const { return {0, result_.count}; }
    /// Returns the number of blocks into which each sum is divided.
    std::int64_t blocks() const { return (x_.count + columns_at_once() - 1) / columns_at_once(); }
    std::int64_t pairs() const { return blocks() * (blocks() + 1) / 2; }
    IndexRange block(std::int64_t i) const {
        return {i * columns_at_once(), std::min((i + 1) * columns_at_once(), x_.count)};
    }
    void add_to_result(IndexRange rows, const Real* sums, const Real* alpha, const Real* beta) const {
        loops_.add_to_result[width() - 1](
            sums, {result_.data + rows.begin * result_.increment * width(), result_.increment, rows.count()}, alpha,
            beta);
    }
    /// Adds the sums of a block to the result, or stores them in kept_ if that is not null.
    void take(IndexRange rows, const Real* sums, std::int64_t first_column) const {
        if (kept_ == nullptr) return add_to_result(rows, sums, alpha_, first_column == 0 ? beta_ : one);
        const std::int64_t row = first_column / columns_at_once() * result_.count + rows.begin;
        std::copy_n(sums, rows.count() * width(), kept_ + row * width());
    }

    /// Divides the work among threads. Usually each thread has some rows. If the matrix is symmetric, so that each
    /// part of it serves two blocks, or if it has few rows, the threads divide the blocks of the sums instead. The
    /// sums of the blocks are then kept, and added up afterwards. Returns false if there is no memory.
    bool run_on_threads(ThreadLimit threads) const {
        const bool is_symmetric = a_.shape == Shape::symmetric;
        const bool is_triangular = a_.shape == Shape::triangular;
        const std::int64_t unit = a_.of_row == 1 ? 64 : few_rows;
        const bool keeps_sums = is_symmetric || (!is_triangular && result_.count < unit * 2 * threads.count);
        const std::int64_t length = is_symmetric ? pairs() : keeps_sums ? blocks() : result_.count;
        const std::int64_t kept = (is_triangular ? 1 : keeps_sums ? blocks() : 0) * result_.count * width();
        return parallel_for_and_finish(
            length, keeps_sums ? 1 : unit, kept * static_cast<std::int64_t>(sizeof(Real)), threads,
            [&](void* memory) {
                MatrixVectorProduct copy = *this;
                if (keeps_sums) copy.kept_ = static_cast<Real*>(memory);
                if (is_triangular) copy.take_x_to(static_cast<Real*>(memory));
                return [copy](IndexRange part, char*, const std::atomic<bool>&) { copy.run_part(part); };
            },
            [&](void* memory) {
                for (std::int64_t i = 0; i < (keeps_sums ? blocks() : 0); ++i)
                    add_to_result(whole(), static_cast<const Real*>(memory) + i * result_.count * width(), alpha_,
                                  i == 0 ? beta_ : one);
            });
    }

    /// Copies x to `copy`, since the result overwrites x.
    void take_x_to(Real* copy) {
        for (std::int64_t i = 0; i < x_.count; ++i)
            std::copy_n(x_.data + i * x_.increment * width(), width(), copy + i * width());
        x_ = {copy, 1, x_.count};
    }

    /// Computes the part of one thread. `part` is a range of rows, of blocks of all rows, or of pairs of blocks.
    void run_part(IndexRange part) const {
        if (a_.shape == Shape::symmetric) return run_pairs(part);
        if (kept_ == nullptr) return run_by_rows(part, {0, x_.count});
        run_by_rows(whole(), {block(part.begin).begin, block(part.end - 1).end});
    }

    /// Computes the sums of the rows in `part` over `columns`.
    [[gnu::noinline]] void run_by_rows(IndexRange part, IndexRange columns) const {
        alignas(64) Real sums[numbers_of_sums];
        alignas(64) Real of_part[numbers_of_sums];
        // Long rows are read from beginning to end, a few rows at a time.
        const std::int64_t step = a_.of_row != 1 ? few_rows : rows_at_once();
        for (std::int64_t i = part.begin; i < part.end; i += step) {
            const IndexRange rows{i, std::min(i + step, part.end)};
            for (std::int64_t j = columns.begin; j < columns.end; j += columns_at_once()) {
                const IndexRange some{j, std::min(j + columns_at_once(), columns.end)};
                sum_block(rows, some, sums, of_part);
                if (a_.shape == Shape::triangular) make_zeros_positive(rows, some, sums);
                take(rows, sums, j);
            }
        }
    }

    /// Sets `sums` to the sums of some rows over the columns of one block. `of_part` has room for as many numbers as
    /// `sums`.
    void sum_block(IndexRange rows, IndexRange columns, Real* sums, Real* of_part) const {
        const bool is_symmetric = a_.shape == Shape::symmetric;
        const bool is_rectangle =
            is_symmetric ? rows.end <= columns.begin || rows.begin >= columns.end : a_.shape == Shape::whole;
        const bool is_mirrored = is_symmetric && !contains(a_.stored, rows.begin, columns.begin);
        if (is_rectangle && (is_mirrored ? a_.of_column : a_.of_row) != 1)
            return add_rectangle(rows, columns, is_mirrored, SumsBefore::are_replaced, sums);
        add_parts(rows, columns, sums, of_part, [&](IndexRange part, Real* to) { add(rows, part, to); });
    }

    /// Sets `sums` to the sums of some rows over the columns of one block, part by part. `add_part(columns, to)` adds
    /// the terms of one part to the sums at `to`.
    template <class AddPart>
    void add_parts(IndexRange rows, IndexRange columns, Real* sums, Real* of_part, const AddPart& add_part) const {
        const std::int64_t numbers = rows.count() * width();
        for (std::int64_t j = columns.begin; j < columns.end; j += columns_of_part()) {
            Real* const to = j == columns.begin ? sums : of_part;
            std::fill_n(to, numbers, Real{0});
            add_part(IndexRange{j, std::min(j + columns_of_part(), columns.end)}, to);
            if (to == of_part) loops_.add_to_result[0](of_part, {sums, 1, numbers}, one, one);
        }
    }

    /// Replaces -0 by 0 in sums that lack terms because A is triangular, as a product of matrices does. Otherwise the
    /// zeros beside the triangle could change the sign of a sum that is 0.
    void make_zeros_positive(IndexRange rows, IndexRange columns, Real* sums) const {
        for (std::int64_t n = 0; n < rows.count() * width(); ++n) {
            const std::int64_t row = rows.begin + n / width();
            if (a_.stored == Part::upper ? row > columns.begin : row < columns.end - 1)
                sums[n] = sums[n] == 0 ? 0 : sums[n];
        }
    }

    /// Computes pairs of blocks of a symmetric or Hermitian A: the rows of one block with the columns of the other
    /// block, and the mirror image. Pairs are numbered by their first block, and then by their second block, which
    /// comes later or is the same block.
    void run_pairs(IndexRange pairs) const {
        std::int64_t first = 0;
        std::int64_t of_first = pairs.begin;  // index of the pair among the pairs with the same first block
        for (; of_first >= blocks() - first; ++first) of_first -= blocks() - first;
        for (std::int64_t pair = pairs.begin; pair < pairs.end; ++pair, ++of_first) {
            if (of_first == blocks() - first) ++first, of_first = 0;
            of_first == 0 ? run_by_rows(block(first), block(first)) : run_pair(block(first), block(first + of_first));
        }
    }

    /// Computes a pair of two different blocks. The part of A that both need is read from memory once. A few columns
    /// at a time, in the order in which they are stored, serve as columns and as rows of the mirror image while they
    /// are in a cache.
    [[gnu::noinline]] void run_pair(IndexRange own, IndexRange other) const {
        alignas(64) Real long_sums[summed_at_once];
        alignas(64) Real of_long_part[summed_at_once];
        alignas(64) Real sums[few_rows * 2];
        alignas(64) Real of_part[few_rows * 2];
        const bool own_is_adjacent = (a_.of_row == 1) == (a_.stored == Part::upper);
        const IndexRange rows = own_is_adjacent ? own : other;
        const IndexRange columns = own_is_adjacent ? other : own;
        add_parts(rows, columns, long_sums, of_long_part, [&](IndexRange part, Real* to) {
            for (std::int64_t i = part.begin; i < part.end; i += few_rows) {
                const IndexRange some{i, std::min(i + few_rows, part.end)};
                add(rows, some, to);
                sum_block(some, rows, sums, of_part);
                take(some, sums, rows.begin);
            }
        });
        take(rows, long_sums, columns.begin);
    }

    /// Multiplies the result by beta, and adds nothing.
    void scale() const {
        constexpr Real zeros[numbers_of_sums] = {};
        for (std::int64_t i = 0; i < result_.count; i += rows_at_once())
            add_to_result({i, std::min(i + rows_at_once(), result_.count)}, zeros, alpha_, beta_);
    }

    /// Adds the terms of some columns to the sums of some rows, which begin at `sums`.
    [[gnu::noinline]] void add(IndexRange rows, IndexRange columns, Real* sums) const {
        if (rows.begin >= rows.end || columns.begin >= columns.end) return;
        const bool is_beside_diagonal = rows.end <= columns.begin || rows.begin >= columns.end;
        if (a_.shape == MatrixFactor<Real>::Shape::whole || is_beside_diagonal) {
            const bool is_stored = contains(a_.stored, rows.begin, columns.begin);
            if (is_stored || a_.shape == MatrixFactor<Real>::Shape::symmetric)
                add_rectangle(rows, columns, !is_stored, SumsBefore::are_continued, sums);
            return;
        }
        // The function divides both ranges at the index `at` and calls itself, until the ranges are equal or lie
        // beside the diagonal. Equal ranges are then halved until they are short.
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

    /// Adds the terms of some columns of A to the sums. The loops multiply the columns by the elements of x in
    /// memory, or by copies of a few elements at a time. The copies are small, since a thread may have little stack.
    [[gnu::noinline]] void add_product(StridedMatrix<Real> part, IndexRange columns, bool conjugates,
                                       SumsBefore before, Real* sums) const {
        const auto add = [&](const StridedMatrix<Real>& of, const Real* factors, Real* to) {
            const auto& loops = of.of_row == 1 ? loops_.add_columns : loops_.add_rows[static_cast<int>(before)];
            loops[width() - 1](of, factors, to);
        };

        const Real* from = x_.data + columns.begin * x_.increment * width();
        if (width() == 1 && x_.increment == 1) return add(part, from, sums);
        Real factors[1024 / sizeof(Real)];
        const std::int64_t at_once = static_cast<std::int64_t>(std::size(factors)) / (2 * width());
        static_assert(std::size(factors) / 2 % summed_in_chain == 0, "parts begin at the first of them");
        for (std::int64_t left = part.columns; left > 0; left -= at_once) {
            part.columns = std::min(at_once, left);
            for (std::int64_t j = 0; j < part.columns; ++j, from += x_.increment * width())
                set_factors(from, width(), conjugates, false, factors + j * width(),
                            factors + (part.columns + j) * width());
            add(part, factors, sums);
            if (before == SumsBefore::are_replaced) before = SumsBefore::are_added_to;
            part.data += part.columns * part.of_column * width();
        }
    }

    void add_rectangle(IndexRange rows, IndexRange columns, bool is_mirrored, SumsBefore before, Real* sums) const {
        const bool conjugates = a_.conjugates != (is_mirrored && a_.is_hermitian);
        if (is_mirrored)
            return add_product(
                {a_.at(columns.begin, rows.begin), a_.of_column, a_.of_row, rows.count(), columns.count()}, columns,
                conjugates, before, sums);
        add_product({a_.at(rows.begin, columns.begin), a_.of_row, a_.of_column, rows.count(), columns.count()},
                    columns, conjugates, before, sums);
    }

    /// Adds the terms of a square at the diagonal, from a copy of the square. If A is triangular, only the elements
    /// of its triangle are read and added.
    [[gnu::noinline]] void add_small_square(IndexRange range, Real* sums) const {
        Real square[small_square * small_square * 2];
        const bool is_symmetric = a_.shape == MatrixFactor<Real>::Shape::symmetric;
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
        if (is_symmetric)
            return add_product({square, 1, small_square, size, size}, range, false, SumsBefore::are_continued, sums);
        for (std::int64_t j = 0; j < size; ++j) {
            const IndexRange rows = stored(j);
            add_product({copy_at(rows.begin, j), 1, small_square, rows.count(), 1},
                        {range.begin + j, range.begin + j + 1}, false, SumsBefore::are_continued,
                        sums + rows.begin * width());
        }
    }

    const VectorLoops<Real>& loops_;
    MatrixFactor<Real> a_;
    StridedVector<const Real> x_{};
    StridedVector<Real> result_{};
    Real alpha_[2] = {1, 0};
    Real beta_[2] = {0, 0};
    Real* kept_ = nullptr;  ///< the sums of each block, for all rows; nullptr if the sums are added to the result
};

/// Calls `use(adjacent elements, index of the first, count)` with all elements of a vector. Elements that are not
/// adjacent in memory are copied, some at a time.
template <class Real, class Use>
void for_adjacent(const StridedVector<const Real>& x, int width, const Use& use) {
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
Element<Real> alpha_of(const Level3& product) {
    return Element<Real>::read(product.alpha, product.is_double, has_complex_scalar(product, false));
}

/// Computes C := alpha A B^T + C, or C := alpha A B^H + C, for some columns of C. Computes only the part of C that
/// the operation writes. If C is row-major, computes the transposed product. LAPACK passes vectors of 1e-30 with an
/// alpha of 1e30, so B is first multiplied by the power of two in alpha, which is exact unless it under- or
/// overflows.
template <class Real>
void add_outer(const Level3& product, const VectorLoops<Real>& loops, StridedVector<const Real> left,
               StridedVector<const Real> right, Element<Real> alpha, IndexRange columns) {
    const int width = product.is_complex ? 2 : 1;
    const Real power = power_of_two(alpha), parts[] = {alpha.re / power, alpha.im / power};
    const bool is_hermitian = product.operation == Operation::her || product.operation == Operation::her2;
    const bool is_conjugated = is_hermitian || product.operation == Operation::gerc;
    Part part = written_part(product);
    if (product.row_major) {
        std::swap(left, right);
        if (part != Part::whole) part = part == Part::upper ? Part::lower : Part::upper;
    }
    for_adjacent(left, width, [&](const Real* x, std::int64_t first, std::int64_t count) {
        for (std::int64_t j = columns.begin; j < columns.end; ++j) {
            const std::int64_t begin = part == Part::lower ? std::clamp(j, first, first + count) : first;
            const std::int64_t end = part == Part::upper ? std::clamp(j + 1, first, first + count) : first + count;
            if (begin >= end) continue;
            Real factors[4] = {};
            set_factors(right.data + j * right.increment * width, width, is_conjugated && product.row_major,
                        is_conjugated && !product.row_major, factors, factors + 2);
            for (Real& factor : factors) factor *= power;
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
void multiply_outer(const Level3& product, const VectorLoops<Real>& loops, ThreadLimit threads) {
    const auto alpha = alpha_of<Real>(product);
    if (is_zero(alpha)) return;
    const int width = product.is_complex ? 2 : 1;
    const std::int64_t rows = is_ger_or_gerc(product.operation) ? product.m : product.n;
    const auto a = strided_vector<const Real>(product.a, product.lda, rows, width);
    const auto b =
        has_b(product.operation) ? strided_vector<const Real>(product.b, product.ldb, product.n, width) : a;
    const auto compute = [=, &loops](IndexRange columns) {
        add_outer(product, loops, a, b, alpha, columns);
        if (has_b(product.operation) && !is_ger_or_gerc(product.operation))
            add_outer(product, loops, b, a, product.operation == Operation::her2 ? conj(alpha) : alpha, columns);
    };
    const std::int64_t columns = product.row_major ? rows : product.n;
    const auto prepare = [&](void*) {
        return [compute](IndexRange part, char*, const std::atomic<bool>&) { compute(part); };
    };
    if (threads.count == 1 || !parallel_for_and_finish(columns, 1, 0, threads, prepare, [](void*) {}))
        compute({0, columns});
}

/// Computes C := alpha A + C for vectors A and C.
template <class Real>
void add_multiple(const Level3& product, const VectorLoops<Real>& loops) {
    const auto alpha = alpha_of<Real>(product);
    if (is_zero(alpha) || product.k <= 0) return;
    const Real parts[] = {alpha.re, alpha.im};
    const int width = product.is_complex ? 2 : 1;
    constexpr Real one[] = {1, 0};
    const auto y = strided_vector<Real>(product.c, product.ldc, product.k, width);
    for_adjacent(strided_vector<const Real>(product.a, product.lda, product.k, width), width,
                 [&](const Real* x, std::int64_t first, std::int64_t count) {
                     const StridedVector<Real> part{y.data + first * y.increment * width, y.increment, count};
                     loops.add_to_result[width - 1](x, part, parts, one);
                 });
}

template <class Real>
void rotate(const Level3& product, const VectorLoops<Real>& loops) {
    if (product.k <= 0) return;
    const int width = product.is_complex ? 2 : 1;
    const Real cosine = *static_cast<const Real*>(product.alpha);
    const Real sine = *static_cast<const Real*>(product.beta);
    const auto x = strided_vector<Real>(product.a, product.lda, product.k, width);
    const auto y = strided_vector<Real>(product.b, product.ldb, product.k, width);
    loops.rotate[width - 1](x, y, cosine, sine);
}

template <class Real>
bool multiply_vector(const Level3& product, const LoopsOfInstructionSet& all, ThreadLimit threads) {
    const VectorLoops<Real>& loops = all.for_type<Real>().vectors;
    constexpr OperationSet with_matrix{Operation::gemv, Operation::symv, Operation::hemv, Operation::trmv};
    if (with_matrix.has(product.operation)) return MatrixVectorProduct<Real>(product, loops).run(threads);
    if (is_ger_or_gerc(product.operation) || is_symmetric_vector_update(product.operation))
        multiply_outer<Real>(product, loops, threads);
    else if (product.operation == Operation::axpy)
        add_multiple<Real>(product, loops);
    else if (product.operation == Operation::rot)
        rotate<Real>(product, loops);
    else
        sum_over_vectors(product, all, threads);
    return true;
}

}  // namespace

bool multiply_vector_in_fixed_order(const Level3& product, InstructionSet instruction_set, ThreadLimit threads) {
    const LoopsOfInstructionSet& loops = loops_of(instruction_set);
    return product.is_double ? multiply_vector<double>(product, loops, threads)
                             : multiply_vector<float>(product, loops, threads);
}

}  // namespace fp32shim::blas
