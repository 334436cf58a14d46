// Threads that exist during one product. There is no pool: a pool would outlive the product, and a fork would lose
// it.
#pragma once

#include <pthread.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "shim/blas/emulate/scratch.hpp"

namespace fp32shim::blas {

struct Crew;

/// A thread of a crew.
struct Worker {
    pthread_t thread;
    Crew* crew;
    int number;
};

/// The threads of a product. In its scratch memory, as are `workers`.
struct Crew : Helpers {
    /// `others` has room for the crew's threads but the calling one. `run(crew, number)` is called on each thread,
    /// with number = 0 on the calling one.
    Crew(Worker* others, void (*run)(Crew& crew, int number)) : Helpers{end_crew}, workers(others), work(run) {}

    static bool end_crew(Helpers& self);

    Worker* workers;
    void (*work)(Crew& crew, int number);
    int started = 0;                        ///< others that were started
    std::uint32_t process = 0;              ///< in which they were started
    std::atomic<std::uint32_t> working{0};  ///< others that are still at work
    std::atomic<bool> is_left{false};       ///< a jump left the product, and work is to end soon
};

/// The number of threads that may work on a product, the calling one included, and the smallest stack of a thread.
struct Threads {
    int count = 1;
    std::size_t (*least_stack)(const pthread_attr_t*) = nullptr;  ///< nullptr: unknown
};

/// Calls the crew's work on up to `threads.count` threads at once, the calling one included, and returns when all
/// have returned. Where the system refuses a thread, fewer run: `work` has to share its tasks out by itself. The
/// other threads hold signals back, except those of faults. A signal handler may leave by siglongjmp: then the others
/// go on until the memory's next user ends them. No cancellation point, and changes nothing of the calling thread.
void run_on_threads(Crew& crew, Threads threads, const Scratch& memory);

/// Starts no more threads in this process and in those that it forks. For a program that gives rights up: a filter of
/// system calls may end it for a new thread.
void start_no_more_threads();
bool may_start_threads();

}  // namespace fp32shim::blas
