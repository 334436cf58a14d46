#include "shim/blas/multiply/job.hpp"

#include <algorithm>
#include <atomic>

#include "shim/blas/multiply/parallel_for.hpp"
#include "shim/blas/multiply/rectangle.hpp"
#include "shim/blas/multiply/solve.hpp"

namespace fp32shim::blas {

template <class Real>
MultiplyJob<Real> job_of(const Level3& product, const TwoFactorProduct<Element<Real>>& factors) {
    const Matrix result = result_of(product);
    MultiplyJob<Real> job;
    job.left = {factors.left, false};
    job.right = {factors.right, true};
    if (is_trmm_or_trsm(product.operation)) {
        const bool is_upper = (product.uplo == 'U') != transposes(product.trans_a);  // true if op(A) is upper
                                                                                     // triangular
        job.summed_by_row = product.side == 'L';
        job.summed = is_upper == job.summed_by_row ? Summed::from : Summed::up_to;
    }
    job.written = written_part(product);
    if (result.row_major) {
        job.left = {factors.right, true};
        job.right = {factors.left, false};
        job.summed_by_row = job.summed != Summed::all && !job.summed_by_row;
        if (job.written != Part::whole) job.written = job.written == Part::upper ? Part::lower : Part::upper;
    }
    job.result = reinterpret_cast<Real*>(const_cast<float*>(result.data));
    job.ld = result.ld;
    job.width = product.is_complex ? 2 : 1;
    job.rows = result.inner();
    job.columns = result.outer();
    job.depth = factors.depth;
    job.alpha = factors.alpha;
    job.beta = factors.beta;
    if (is_in_place(product)) job.in_place = job.summed_by_row ? InPlace::right : InPlace::left;
    job.solves = product.operation == Operation::trsm;
    job.has_real_diagonal = is_herk_or_her2k(product.operation);
    return job;
}

template MultiplyJob<float> job_of(const Level3&, const TwoFactorProduct<Element<float>>&);
template MultiplyJob<double> job_of(const Level3&, const TwoFactorProduct<Element<double>>&);

namespace {

/// A trmm in place copies the operand that it overwrites in pieces of this many bytes.
constexpr std::int64_t bytes_copied_at_once = std::int64_t{8} << 20;

/// Returns the number of columns or rows that a trmm in place copies and computes at a time.
template <class Real>
std::int64_t copied_at_a_time(const MultiplyJob<Real>& job) {
    const auto of_one = job.depth * job.width * static_cast<std::int64_t>(sizeof(Real));
    const std::int64_t other = job.summed_by_row ? job.columns : job.rows;
    return std::clamp(bytes_copied_at_once / of_one, std::int64_t{1}, std::max(other, std::int64_t{1}));
}

/// Computes the rows of a trmm in place that are in `part`, or the columns if the right factor is overwritten. Copies
/// some of them at a time, and multiplies the copy.
template <class Real>
void run_in_place(const MultiplyJob<Real>& job, const TileLoops<Real>& loops, IndexRange part,
                  const std::atomic<bool>& was_abandoned, Real* memory, Real* copy) {
    const std::int64_t step = copied_at_a_time(job);
    const Matrix result = job.result_matrix();
    for (std::int64_t first = part.begin; first < part.end && !was_abandoned.load(std::memory_order_relaxed);
         first += step) {
        const std::int64_t count = std::min(step, part.end - first);
        const bool is_right = job.in_place == InPlace::right;
        const Matrix overwritten =
            is_right ? result.block(0, first, job.depth, count) : result.block(first, 0, count, job.depth);
        Matrix kept = overwritten;
        kept.data = reinterpret_cast<float*>(copy);
        kept.ld = kept.rows;
        copy_elements(overwritten, Part::whole, kept);
        MultiplyJob<Real> piece = job;
        piece.result = reinterpret_cast<Real*>(const_cast<float*>(overwritten.data));
        (is_right ? piece.columns : piece.rows) = count;
        (is_right ? piece.right : piece.left) = {{kept, 'N'}, is_right};
        ResultRectangle<Real>(piece, loops, was_abandoned, memory)
            .compute({0, piece.rows}, {0, piece.columns * job.width});
    }
}

}  // namespace

template <class Real>
bool run_job(const MultiplyJob<Real>& job, const TileLoops<Real>& loops, ThreadLimit threads,
             ProductScratch& scratch) {
    if (job.rows == 0 || job.columns == 0) return true;
    if (is_zero(job.alpha) || job.depth == 0) {
        if (job.beta.re != 1 || job.beta.im != 0) scale_result(job, loops);
        return true;
    }
    const std::int64_t further = job.solves                      ? numbers_needed_to_solve(job, loops)
                                 : job.in_place == InPlace::none ? 0
                                                                 : copied_at_a_time(job) * job.depth * job.width;
    const bool by_rows = job.in_place == InPlace::none ? job.rows > job.columns : job.in_place == InPlace::left;
    const std::int64_t for_products = ResultRectangle<Real>::numbers_needed(job, loops);
    const auto numbers_of_one = static_cast<std::size_t>(round_up(for_products + further, 16));
    // Each range of rows or columns packs the other factor as a whole. So a thread gets only one range if all ranges
    // take equally long, and otherwise two.
    const bool is_even = job.written == Part::whole && (job.summed == Summed::all || job.in_place != InPlace::none);
    const Division division{by_rows ? job.rows : job.columns, by_rows ? loops.rows : loops.columns, is_even ? 1 : 2};
    return parallel_for(division, numbers_of_one * sizeof(Real), threads, scratch, [&](void*) {
        return [job, &loops, by_rows, for_products](IndexRange part, char* of_thread,
                                                    const std::atomic<bool>& was_abandoned) {
            auto* const memory = reinterpret_cast<Real*>(of_thread);
            if (job.solves) return solve(job, loops, part, was_abandoned, memory, memory + for_products);
            if (job.in_place != InPlace::none)
                return run_in_place(job, loops, part, was_abandoned, memory, memory + for_products);
            const IndexRange rows = by_rows ? part : IndexRange{0, job.rows};
            const IndexRange columns = by_rows ? IndexRange{0, job.columns} : part;
            ResultRectangle<Real>(job, loops, was_abandoned, memory)
                .compute(rows, {columns.begin * job.width, columns.end * job.width});
        };
    });
}

template bool run_job(const MultiplyJob<float>&, const TileLoops<float>&, ThreadLimit, ProductScratch&);
template bool run_job(const MultiplyJob<double>&, const TileLoops<double>&, ThreadLimit, ProductScratch&);

}  // namespace fp32shim::blas
