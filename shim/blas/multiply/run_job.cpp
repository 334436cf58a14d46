#include "shim/blas/multiply/run_job.hpp"

#include <algorithm>
#include <atomic>

#include "shim/blas/multiply/division.hpp"
#include "shim/blas/multiply/rectangle.hpp"
#include "shim/blas/multiply/solve.hpp"

namespace fp32shim::blas {
namespace {

/// Bytes of a copy of the operand that a trmm in place overwrites.
constexpr std::int64_t bytes_copied_at_once = std::int64_t{8} << 20;

/// Returns the number of columns or rows of a trmm in place that are copied at a time.
template <class Real>
std::int64_t copied_at_a_time(const Job<Real>& job) {
    const auto of_one = job.depth * job.width * static_cast<std::int64_t>(sizeof(Real));
    const std::int64_t other = job.summed_by_row ? job.columns : job.rows;
    return std::clamp(bytes_copied_at_once / of_one, std::int64_t{1}, std::max(other, std::int64_t{1}));
}

/// Computes columns (if the overwritten factor is the right one) or rows of a trmm in place, some at a time, from a
/// copy.
template <class Real>
void run_in_place(const Job<Real>& job, const TileLoops<Real>& loops, IndexRange part,
                  const std::atomic<bool>& is_left, Real* memory, Real* copy) {
    const std::int64_t step = copied_at_a_time(job);
    const Matrix result = result_of(job);
    for (std::int64_t first = part.begin; first < part.end && !is_left.load(std::memory_order_relaxed);
         first += step) {
        const std::int64_t count = std::min(step, part.end - first);
        const bool is_right = job.in_place == InPlace::right;
        const Matrix overwritten =
            is_right ? result.block(0, first, job.depth, count) : result.block(first, 0, count, job.depth);
        Matrix kept = overwritten;
        kept.data = reinterpret_cast<float*>(copy);
        kept.ld = kept.rows;
        copy_elements(overwritten, Part::whole, kept);
        Job<Real> piece = job;
        piece.result = reinterpret_cast<Real*>(const_cast<float*>(overwritten.data));
        (is_right ? piece.columns : piece.rows) = count;
        (is_right ? piece.right : piece.left) = {{kept, 'N'}, is_right};
        Rectangle<Real>(piece, loops, is_left, memory).run({0, piece.rows}, {0, piece.columns * job.width});
    }
}

}  // namespace

template <class Real>
bool run_job(const Job<Real>& job, const TileLoops<Real>& loops, Threads threads, HeldScratch& scratch) {
    if (job.rows == 0 || job.columns == 0) return true;
    if (is_zero(job.alpha) || job.depth == 0) {
        if (job.beta.re != 1 || job.beta.im != 0) scale(job, loops);
        return true;
    }
    const std::int64_t further = job.solves                      ? numbers_to_solve(job, loops)
                                 : job.in_place == InPlace::none ? 0
                                                                 : copied_at_a_time(job) * job.depth * job.width;
    const bool by_rows = job.in_place == InPlace::none ? job.rows > job.columns : job.in_place == InPlace::left;
    const std::int64_t for_products = Rectangle<Real>::numbers(job, loops);
    const auto numbers_of_one = static_cast<std::size_t>(round_up(for_products + further, 16));
    return divide(by_rows ? job.rows : job.columns, by_rows ? loops.rows : loops.columns,
                  numbers_of_one * sizeof(Real), threads, scratch, [&](void*) {
                      return [job, &loops, by_rows, for_products](IndexRange part, char* of_thread,
                                                                  const std::atomic<bool>& is_left) {
                          auto* const memory = reinterpret_cast<Real*>(of_thread);
                          if (job.solves) return solve(job, loops, part, is_left, memory, memory + for_products);
                          if (job.in_place != InPlace::none)
                              return run_in_place(job, loops, part, is_left, memory, memory + for_products);
                          const IndexRange rows = by_rows ? part : IndexRange{0, job.rows};
                          const IndexRange columns = by_rows ? IndexRange{0, job.columns} : part;
                          Rectangle<Real>(job, loops, is_left, memory)
                              .run(rows, {columns.begin * job.width, columns.end * job.width});
                      };
                  });
}

template bool run_job(const Job<float>&, const TileLoops<float>&, Threads, HeldScratch&);
template bool run_job(const Job<double>&, const TileLoops<double>&, Threads, HeldScratch&);

}  // namespace fp32shim::blas
