// Divides work on a range of indices among threads.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>

#include "shim/blas/emulate/emulate.hpp"
#include "shim/blas/emulate/scratch.hpp"
#include "shim/blas/multiply/threads.hpp"
#include "shim/level3/matrix.hpp"

namespace fp32shim::blas {

constexpr std::int64_t round_up(std::int64_t number, std::int64_t unit) { return (number + unit - 1) / unit * unit; }

/// The state of one parallel loop. It lies in the product's scratch memory, which stays in place if a signal handler
/// leaves the product by siglongjmp.
template <class Work>
struct ParallelFor : ThreadTeam {
    Work work;
    std::int64_t length;
    std::int64_t step;
    char* memory;              ///< the memory of all threads, one thread after the other
    std::size_t bytes_of_one;  ///< size of the memory of one thread
    std::atomic<std::int64_t> next{0};

    static void run(ThreadTeam& team, int worker) {
        auto& all = static_cast<ParallelFor&>(team);
        while (worker == 0 || !team.is_forking.load(std::memory_order_relaxed)) {
            const std::int64_t begin = all.next.fetch_add(all.step, std::memory_order_relaxed);
            if (begin >= all.length || team.was_abandoned.load(std::memory_order_relaxed)) return;
            all.work(IndexRange{begin, std::min(begin + all.step, all.length)},
                     all.memory + static_cast<std::size_t>(worker) * all.bytes_of_one, team.was_abandoned);
        }
    }
};

/// How the indices of a parallel loop are divided into ranges. Each range begins at a multiple of `unit`.
struct Division {
    std::int64_t length;
    std::int64_t unit;
    /// The number of ranges for each thread. A thread that is done early takes over ranges of other threads, so more
    /// ranges balance the threads better. But some kinds of work take more time in all if there are more ranges.
    std::int64_t ranges_of_a_thread;
};

/// Divides the indices from 0 to `division.length` into ranges, and calls `work(range, memory, was_abandoned)` with
/// each range, on at most `threads.count` threads, including the calling thread. `memory` has `bytes_of_one` bytes
/// for each thread. `prepare(leading memory)` returns `work`, which must not refer to the caller's stack.
/// `was_abandoned` becomes true if a jump leaves the call; `work` may then end early. Returns false, before it calls
/// `prepare`, if there is no memory.
template <class Prepare>
bool parallel_for(Division division, std::size_t bytes_of_one, ThreadLimit threads, ProductScratch& scratch,
                  const Prepare& prepare) {
    using Own = ParallelFor<decltype(prepare(nullptr))>;
    constexpr auto bytes_of_division = static_cast<std::size_t>(round_up(sizeof(Own), 64));
    const std::size_t bytes_of_thread = bytes_of_one + sizeof(TeamThread);
    // If the memory for all threads would exceed the limit, uses fewer threads instead of failing, since the result
    // must not depend on the number of threads.
    const auto fitting = static_cast<int>((scratch.limit - bytes_of_division) / bytes_of_thread);
    const int count = std::clamp(threads.count, 1, std::max(fitting, 1));
    const std::int64_t length = division.length;
    const std::int64_t ranges = count * division.ranges_of_a_thread;
    const std::int64_t step = count == 1 ? length : round_up((length + ranges - 1) / ranges, division.unit);
    float* const memory = scratch.acquire(bytes_of_division + bytes_of_thread * static_cast<std::size_t>(count));
    if (memory == nullptr) return count > 1 && parallel_for(division, bytes_of_one, {}, scratch, prepare);
    auto* const of_threads = reinterpret_cast<char*>(memory) + bytes_of_division;
    auto* const workers = reinterpret_cast<TeamThread*>(of_threads + bytes_of_one * static_cast<std::size_t>(count));
    auto* const parallel = new (memory)
        Own{{workers, Own::run}, prepare(scratch.leading_memory()), length, step, of_threads, bytes_of_one};
    run_on_threads(*parallel, {count, threads.least_stack}, scratch.scratch);
    return true;
}

/// Calls parallel_for() for work that needs no memory of its own on each thread, and then `finish(leading memory)`.
/// The leading memory has `leading_bytes` bytes. Returns false if there is no memory.
template <class Prepare, class Finish>
bool parallel_for_and_finish(std::int64_t length, std::int64_t unit, std::int64_t leading_bytes, ThreadLimit threads,
                             const Prepare& prepare, const Finish& finish) {
    if (leading_bytes > static_cast<std::int64_t>(scratch_limit_of_a_product)) return false;
    ProductScratch scratch{scratch_limit_of_a_product, static_cast<std::size_t>(round_up(leading_bytes, 64))};
    const bool done = parallel_for({length, unit, 4}, 0, threads, scratch, prepare);
    if (done) finish(scratch.leading_memory());
    scratch.release();
    return done;
}

}  // namespace fp32shim::blas
