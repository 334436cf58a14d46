// Work that threads divide among themselves: ranges of indices, which they take in turn.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>
#include <utility>

#include "shim/blas/emulate/emulate.hpp"
#include "shim/blas/emulate/scratch.hpp"
#include "shim/blas/multiply/threads.hpp"
#include "shim/level3/matrix.hpp"

namespace fp32shim::blas {

constexpr std::int64_t round_up(std::int64_t number, std::int64_t unit) { return (number + unit - 1) / unit * unit; }

/// Lies in the product's scratch memory, which stays in place if a signal handler leaves the product by siglongjmp.
template <class Work>
struct Division : Crew {
    Work work;
    std::int64_t length;
    std::int64_t step;
    char* memory;              ///< of all threads, one after the other
    std::size_t bytes_of_one;  ///< of one thread
    std::atomic<std::int64_t> next{0};

    static void run(Crew& crew, int worker) {
        auto& all = static_cast<Division&>(crew);
        for (;;) {
            const std::int64_t begin = all.next.fetch_add(all.step, std::memory_order_relaxed);
            if (begin >= all.length || crew.is_left.load(std::memory_order_relaxed)) return;
            all.work(IndexRange{begin, std::min(begin + all.step, all.length)},
                     all.memory + static_cast<std::size_t>(worker) * all.bytes_of_one, crew.is_left);
        }
    }
};

/// Calls `work(range, memory, is_left)` with ranges that make up 0 to `length`, multiples of `unit`, on at most
/// `threads.count` threads, the calling one included. `memory` has `bytes_of_one` bytes for each thread. `work` is
/// what `prepare(memory before)` returns; it may end early once `is_left` is true, and must not refer to the
/// caller's stack. Returns false, before anything is prepared, if there is no memory.
template <class Prepare>
bool divide(std::int64_t length, std::int64_t unit, std::size_t bytes_of_one, Threads threads, HeldScratch& scratch,
            const Prepare& prepare) {
    using Own = Division<decltype(prepare(nullptr))>;
    constexpr auto bytes_of_division = static_cast<std::size_t>(round_up(sizeof(Own), 64));
    const std::size_t bytes_of_thread = bytes_of_one + sizeof(Worker);
    // Fewer threads where the memory for all would be beyond the limit: the result must not depend on their number.
    const auto fitting = static_cast<int>((scratch.limit - bytes_of_division) / bytes_of_thread);
    const int count = std::clamp(threads.count, 1, std::max(fitting, 1));
    constexpr std::int64_t groups_of_a_thread = 4;
    const std::int64_t groups = count * groups_of_a_thread;
    const std::int64_t step = count == 1 ? length : round_up((length + groups - 1) / groups, unit);
    float* const memory = scratch.memory_of(bytes_of_division + bytes_of_thread * static_cast<std::size_t>(count));
    if (memory == nullptr) return count > 1 && divide(length, unit, bytes_of_one, {}, scratch, prepare);
    auto* const of_threads = reinterpret_cast<char*>(memory) + bytes_of_division;
    auto* const workers = reinterpret_cast<Worker*>(of_threads + bytes_of_one * static_cast<std::size_t>(count));
    auto* const division = new (memory)
        Own{{workers, Own::run}, prepare(scratch.memory_before()), length, step, of_threads, bytes_of_one};
    run_on_threads(*division, {count, threads.least_stack}, scratch.scratch);
    return true;
}

/// Does that for work that needs no memory of a thread, and then calls `finish(memory before)`.
template <class Prepare, class Finish>
bool divide_on_threads(std::int64_t length, std::int64_t unit, std::int64_t bytes_before, Threads threads,
                       const Prepare& prepare, const Finish& finish) {
    if (bytes_before > static_cast<std::int64_t>(scratch_limit_of_a_product)) return false;
    HeldScratch scratch{scratch_limit_of_a_product, static_cast<std::size_t>(round_up(bytes_before, 64))};
    const bool done = divide(length, unit, 0, threads, scratch, prepare);
    if (done) finish(scratch.memory_before());
    scratch.release();
    return done;
}

}  // namespace fp32shim::blas
