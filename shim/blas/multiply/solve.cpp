#include "shim/blas/multiply/solve.hpp"

#include "shim/blas/emulate/emulate.hpp"
#include "shim/blas/emulate/scratch.hpp"
#include "shim/blas/multiply/pack.hpp"
#include "shim/blas/multiply/rectangle.hpp"
#include "shim/blas/multiply/vectors.hpp"

namespace fp32shim::blas {
namespace {

/// Returns 1 / x for a complex x.
template <class Real>
ComplexNumber<Real> inverse(Element<Real> x) {
    const bool is_wide = (x.re < 0 ? -x.re : x.re) >= (x.im < 0 ? -x.im : x.im);
    const Real ratio = is_wide ? x.im / x.re : x.re / x.im;  // this is Smith's method, in which no square overflows
    const Real whole = 1 / ((is_wide ? x.re : x.im) * fused_multiply_add_plain(ratio, ratio, Real{1}));
    return is_wide ? ComplexNumber<Real>{whole, -ratio * whole} : ComplexNumber<Real>{ratio * whole, -whole};
}

/// Solves for some rows or columns of X. Unknowns are numbered in the order in which they are solved: from the first
/// row on for a lower triangle, and from the last row on for an upper triangle.
template <class Real>
class TriangularSolve {
  public:
    TriangularSolve(const MultiplyJob<Real>& job, const TileLoops<Real>& loops, IndexRange part,
                    const std::atomic<bool>& was_abandoned, Real* for_products, Real* for_solve)
        : job_(job),
          loops_(loops),
          part_(part),
          was_abandoned_(was_abandoned),
          for_products_(for_products),
          triangle_(for_solve),
          panel_(for_solve + solved_at_once * solved_at_once * job.width),
          of_unknown_((is_right() ? 1 : job.ld) * job.width),
          of_column_((is_right() ? job.ld : 1) * job.width) {}

    /// Sets the distance between the elements of X, in elements, if X is a vector.
    void set_increment(std::int64_t increment) { of_unknown_ = increment * job_.width; }

    /// Multiplies the right-hand sides of the unknowns in a range by `scale`, and solves for these unknowns.
    void run(IndexRange unknowns, Element<Real> scale) {
        if (was_abandoned_.load(std::memory_order_relaxed)) return;
        if (unknowns.count() <= solved_at_once) return solve_one_by_one(unknowns, scale);
        const std::int64_t half = round_up(unknowns.count() / 2, solved_at_once);
        const IndexRange known{unknowns.begin, unknowns.begin + half};
        const IndexRange others{known.end, unknowns.end};
        run(known, scale);
        subtract(known, others, scale);
        run(others, {1});
    }

  private:
    bool is_right() const { return job_.in_place == InPlace::right; }
    const JobFactor<Real>& triangle() const { return is_right() ? job_.left : job_.right; }
    /// Returns the rows of the triangle, or the indices of X, that belong to a range of unknowns.
    IndexRange stored(IndexRange unknowns) const {
        if (job_.summed == Summed::up_to) return unknowns;
        return {job_.depth - unknowns.end, job_.depth - unknowns.begin};
    }
    /// Returns the coefficients of the unknowns `known` in the equations for the unknowns `others`.
    JobFactor<Real> coefficients(IndexRange known, IndexRange others) const {
        const JobFactor<Real>& side = triangle();
        const bool index_is_column = side.is_swapped != transposes(side.view.trans());
        const IndexRange rows = index_is_column ? known : others;
        const IndexRange columns = index_is_column ? others : known;
        const Matrix block =
            side.view.stored_matrix().block(rows.begin, columns.begin, rows.count(), columns.count());
        return {{block, side.view.trans()}, side.is_swapped};
    }
    Matrix part_of_x(IndexRange indices) const {
        const Matrix x = job_.result_matrix();
        return is_right() ? x.block(indices.begin, part_.begin, indices.count(), part_.count())
                          : x.block(part_.begin, indices.begin, part_.count(), indices.count());
    }

    /// Multiplies the right-hand sides of `others` by `scale`, and subtracts the terms of the unknowns in `known`,
    /// which have been solved.
    void subtract(IndexRange known, IndexRange others, Element<Real> scale) {
        if (is_right() && part_.count() == 1) return subtract_from_vector(stored(known), stored(others), scale);
        const Matrix result = part_of_x(stored(others));
        MultiplyJob<Real> job;
        job.result = reinterpret_cast<Real*>(const_cast<float*>(result.data));
        job.ld = job_.ld;
        job.width = job_.width;
        job.rows = result.rows;
        job.columns = result.columns;
        job.depth = known.count();
        job.alpha = {-1};
        job.beta = scale;
        (is_right() ? job.left : job.right) = coefficients(stored(known), stored(others));
        (is_right() ? job.right : job.left) = JobFactor<Real>{{part_of_x(stored(known)), 'N'}, is_right()};
        ResultRectangle<Real>(job, loops_, was_abandoned_, for_products_)
            .compute({0, job.rows}, {0, job.columns * job.width});
    }

    /// Computes the same bits as subtract() for an X of a single column.
    void subtract_from_vector(IndexRange known, IndexRange others, Element<Real> scale) {
        const JobFactor<Real> side = coefficients(known, others);
        const Matrix& matrix = side.view.stored_matrix();
        constexpr Real minus_one[] = {-1, 0};
        const Real beta[] = {scale.re, scale.im};
        Level3 product{.operation = Operation::gemv};
        product.is_complex = job_.width == 2;
        product.is_double = sizeof(Real) == sizeof(double);
        product.row_major = matrix.row_major != side.is_swapped;
        product.trans_a = side.view.trans();
        product.m = side.is_swapped ? matrix.columns : matrix.rows;
        product.n = side.is_swapped ? matrix.rows : matrix.columns;
        product.a = matrix.data;
        product.lda = matrix.ld;
        product.alpha = minus_one;
        product.beta = beta;
        const auto of_increment = [&](IndexRange indices, std::int64_t increment) {
            const std::int64_t first =
                increment < 0 ? indices.end - 1 : indices.begin;  // the unknown at the lowest address
            return job_.result + part_.begin * of_column_ + first * of_unknown_;
        };
        product.ldb = product.ldc = of_unknown_ / job_.width;
        product.b = of_increment(known, product.ldb);
        product.c = of_increment(others, product.ldc);
        multiply_vector_in_fixed_order(product);
    }

    /// Copies the triangle of some unknowns row by row. A row has the negated coefficients of earlier unknowns, and
    /// then the coefficient on the diagonal. The coefficient on the diagonal is inverted if it is complex, and left
    /// out if it counts as 1.
    void pack_triangle(IndexRange unknowns) {
        const int width = job_.width;
        const StridedFactor<Real> from = strided_stored_factor(triangle(), width);
        const std::int64_t first = job_.summed == Summed::up_to ? unknowns.begin : job_.depth - 1 - unknowns.begin;
        const std::int64_t step = job_.summed == Summed::up_to ? 1 : -1;
        for (std::int64_t i = 0; i < unknowns.count(); ++i) {
            const Real* coefficient = from.at(first + i * step, first);
            Real* to = triangle_ + i * solved_at_once * width;
            for (std::int64_t j = 0; j < i; ++j, coefficient += step * from.summed_stride, to += width) {
                to[0] = -coefficient[0];
                if (width == 2) to[1] = -from.imaginary_part(coefficient[1]);
            }
            if (triangle().view.has_unit_diagonal()) continue;
            to[0] = coefficient[0];
            if (width == 1) continue;
            const ComplexNumber<Real> last = inverse<Real>({coefficient[0], from.imaginary_part(coefficient[1])});
            to[0] = last.re;
            to[1] = last.im;
        }
    }

    void solve_one_by_one(IndexRange unknowns, Element<Real> scale) {
        pack_triangle(unknowns);
        for (std::int64_t i = part_.begin; i < part_.end; i += loops_.solved_columns)
            solve_panel(unknowns, {i, std::min(i + loops_.solved_columns, part_.end)}, scale);
    }

    /// Copies some columns of X to the panel, or back if `to_panel` is false. The panel has the unknowns in the order
    /// in which X stores them. Each unknown has one row, or a row of real parts and a row of imaginary parts.
    template <bool to_panel>
    void copy_panel(IndexRange unknowns, IndexRange columns) {
        const std::int64_t rows = unknowns.count() * job_.width;
        const std::int64_t of_row = loops_.solved_columns;
        Real* const x = job_.result + stored(unknowns).begin * of_unknown_ + columns.begin * of_column_;
        const auto count = static_cast<int>(columns.count());
        if (of_unknown_ == job_.width) {  // in this case all numbers of a column of X are adjacent
            if (to_panel) return copy_transposed(x, of_column_, rows, count, of_row, panel_);
            return copy_transposed(panel_, of_row, count, static_cast<int>(rows), of_column_, x);
        }
        for (std::int64_t row = 0; row < rows; ++row) {
            Real* const at = x + row / job_.width * of_unknown_ + row % job_.width;
            for (int j = 0; j < count; ++j) {
                Real& in_x = at[j * of_column_];
                Real& in_panel = panel_[row * of_row + j];
                to_panel ? in_panel = in_x : in_x = in_panel;
            }
        }
    }

    void scale_panel(std::int64_t rows, Element<Real> scale) {
        if (scale.re == 1 && scale.im == 0) return;
        const std::int64_t width = loops_.solved_columns;
        for (std::int64_t row = 0; row < rows; row += job_.width)
            for (Real* re = panel_ + row * width; re < panel_ + (row + 1) * width; ++re) {
                Real& im = re[job_.width == 2 ? width : 0];
                const Real old_re = *re;
                const Real old_im = im;
                *re = scale.re * old_re;
                if (job_.width == 2) im = scale.re * old_im;
                if (scale.im == 0) continue;
                *re = fused_multiply_add_plain(-scale.im, old_im, *re);
                im = fused_multiply_add_plain(scale.im, old_re, im);
            }
    }

    void solve_panel(IndexRange unknowns, IndexRange columns, Element<Real> scale) {
        const std::int64_t width = loops_.solved_columns;
        const std::int64_t rows = unknowns.count() * job_.width;
        copy_panel<true>(unknowns, columns);
        // The panel is filled up with copies of the last column, since copies raise no floating-point exception that
        // the column itself does not raise.
        for (std::int64_t row = 0; row < rows; ++row)
            std::fill(panel_ + row * width + columns.count(), panel_ + (row + 1) * width,
                      panel_[row * width + columns.count() - 1]);
        scale_panel(rows, scale);
        const bool is_lower = job_.summed == Summed::up_to;
        const std::int64_t of_unknown = job_.width * width;
        (job_.width == 1 ? loops_.solve : loops_.solve_complex)(
            triangle_, static_cast<int>(unknowns.count()), triangle().view.has_unit_diagonal(),
            is_lower ? panel_ : panel_ + (unknowns.count() - 1) * of_unknown, is_lower ? of_unknown : -of_unknown);
        copy_panel<false>(unknowns, columns);
    }

    const MultiplyJob<Real>& job_;
    const TileLoops<Real>& loops_;
    IndexRange part_;
    const std::atomic<bool>& was_abandoned_;
    Real* for_products_;
    Real* triangle_;
    Real* panel_;
    std::int64_t of_unknown_;  ///< distance between successive unknowns in a column of X, in numbers
    std::int64_t of_column_;
};

char without_transposition_of_row_major(char trans) {
    return trans == 'N' ? 'T' : trans == 'T' ? 'N' : trans == 'C' ? 'R' : 'C';
}

}  // namespace

template <class Real>
std::int64_t numbers_needed_to_solve(const MultiplyJob<Real>& job, const TileLoops<Real>& loops) {
    return solved_at_once * (solved_at_once + loops.solved_columns) * job.width;
}

template <class Real>
void solve(const MultiplyJob<Real>& job, const TileLoops<Real>& loops, IndexRange part,
           const std::atomic<bool>& was_abandoned, Real* for_products, Real* for_solve) {
    TriangularSolve<Real>(job, loops, part, was_abandoned, for_products, for_solve).run({0, job.depth}, job.alpha);
}

template <class Real>
bool solve_vector(const Level3& product, const TileLoops<Real>& loops) {
    static constexpr Real one[] = {1, 0};
    if (product.n == 0) return true;
    const int width = product.is_complex ? 2 : 1;
    Level3 column = product;  // a trsm with one right-hand side, in column-major order
    column.operation = Operation::trsm;
    column.side = 'L';
    column.m = product.n;
    column.n = 1;
    column.alpha = one;
    if (product.row_major) {
        column.row_major = false;
        column.uplo = product.uplo == 'U' ? 'L' : 'U';
        column.trans_a = without_transposition_of_row_major(product.trans_a);
    }
    auto* const lowest = static_cast<Real*>(const_cast<void*>(product.b));
    column.b = product.ldb < 0 ? lowest - (product.n - 1) * product.ldb * width : lowest;
    ProductScratch scratch{scratch_limit_of_a_product};
    bool done = true;
    for_each_job<Real>(column, [&](const MultiplyJob<Real>& job) {
        auto* const memory =
            scratch.acquire(static_cast<std::size_t>(numbers_needed_to_solve(job, loops)) * sizeof(Real));
        done = memory != nullptr;
        if (!done) return;
        constinit static const std::atomic<bool> never{false};
        TriangularSolve<Real> solve(job, loops, {0, 1}, never, nullptr, reinterpret_cast<Real*>(memory));
        solve.set_increment(product.ldb);
        solve.run({0, job.depth}, {1});
    });
    scratch.release();
    return done;
}

template bool solve_vector(const Level3&, const TileLoops<float>&);
template bool solve_vector(const Level3&, const TileLoops<double>&);
template std::int64_t numbers_needed_to_solve(const MultiplyJob<float>&, const TileLoops<float>&);
template std::int64_t numbers_needed_to_solve(const MultiplyJob<double>&, const TileLoops<double>&);
template void solve(const MultiplyJob<float>&, const TileLoops<float>&, IndexRange, const std::atomic<bool>&, float*,
                    float*);
template void solve(const MultiplyJob<double>&, const TileLoops<double>&, IndexRange, const std::atomic<bool>&,
                    double*, double*);

}  // namespace fp32shim::blas
