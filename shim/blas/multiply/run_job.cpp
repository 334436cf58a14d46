#include "shim/blas/multiply/run_job.hpp"

#include <algorithm>
#include <atomic>
#include <new>

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

/// A job whose result is divided among threads: into groups of rows or of columns, which threads take in turn. The
/// object lies at the beginning of the product's scratch memory, which stays in place if a signal handler leaves the
/// product by siglongjmp.
template <class Real>
struct Division : Crew {
    Job<Real> job;
    const TileLoops<Real>* loops;
    bool by_rows;
    std::int64_t step;           ///< rows or columns of one group
    Real* memory;                ///< of all threads, one after the other
    std::size_t numbers_of_one;  ///< of one thread
    std::atomic<std::int64_t> next{0};

    std::int64_t length() const { return by_rows ? job.rows : job.columns; }
};

template <class Real>
void run_groups(Crew& crew, int worker) {
    auto& all = static_cast<Division<Real>&>(crew);
    const Job<Real>& job = all.job;
    Real* const memory = all.memory + static_cast<std::size_t>(worker) * all.numbers_of_one;
    for (;;) {
        const std::int64_t begin = all.next.fetch_add(all.step, std::memory_order_relaxed);
        if (begin >= all.length() || crew.is_left.load(std::memory_order_relaxed)) return;
        const IndexRange part{begin, std::min(begin + all.step, all.length())};
        Real* const further = memory + Rectangle<Real>::numbers(job, *all.loops);
        if (job.solves) {
            solve(job, *all.loops, part, crew.is_left, memory, further);
        } else if (job.in_place != InPlace::none) {
            run_in_place(job, *all.loops, part, crew.is_left, memory, further);
        } else {
            const IndexRange rows = all.by_rows ? part : IndexRange{0, job.rows};
            const IndexRange columns = all.by_rows ? IndexRange{0, job.columns} : part;
            Rectangle<Real>(job, *all.loops, crew.is_left, memory)
                .run(rows, {columns.begin * job.width, columns.end * job.width});
        }
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
    const auto numbers_of_one =
        static_cast<std::size_t>(round_up(Rectangle<Real>::numbers(job, loops) + further, 16));
    const std::size_t bytes_of_one = numbers_of_one * sizeof(Real) + sizeof(Worker);
    constexpr std::size_t bytes_of_division = round_up(sizeof(Division<Real>), 64) + 64;
    // Fewer threads where the memory for all would be beyond the limit: the result must not depend on their number.
    const auto fitting = static_cast<int>((scratch.limit - bytes_of_division) / bytes_of_one);
    const int count = std::clamp(threads.count, 1, std::max(fitting, 1));
    const bool by_rows = job.in_place == InPlace::none ? job.rows > job.columns : job.in_place == InPlace::left;
    const std::int64_t length = by_rows ? job.rows : job.columns;
    constexpr std::int64_t groups_of_a_thread = 4;
    const std::int64_t unit = by_rows ? loops.rows : loops.columns;
    const std::int64_t step = count == 1 ? length : round_up(length / (count * groups_of_a_thread) + 1, unit);
    auto* const memory = scratch.memory_of(bytes_of_division + bytes_of_one * static_cast<std::size_t>(count));
    if (memory == nullptr) return count > 1 && run_job(job, loops, {}, scratch);
    auto* const panels = reinterpret_cast<Real*>(memory + bytes_of_division / sizeof(float));
    auto* const workers = reinterpret_cast<Worker*>(panels + numbers_of_one * static_cast<std::size_t>(count));
    auto* const division =
        new (memory) Division<Real>{{workers, run_groups<Real>}, job, &loops, by_rows, step, panels, numbers_of_one};
    run_on_threads(*division, {count, threads.least_stack}, scratch.scratch);
    return true;
}

template bool run_job(const Job<float>&, const TileLoops<float>&, Threads, HeldScratch&);
template bool run_job(const Job<double>&, const TileLoops<double>&, Threads, HeldScratch&);

}  // namespace fp32shim::blas
