// Threads that exist during one product. There is no pool: a pool would outlive the product, and a fork would lose
// it.
#pragma once

#include <pthread.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "shim/blas/emulate/scratch.hpp"

namespace fp32shim::blas {

struct ThreadTeam;

/// A thread of a team, other than the calling thread.
struct TeamThread {
    pthread_t thread;
    ThreadTeam* team;
    int number;
};

/// The threads that work on one product. The team and its `workers` lie in the product's scratch memory.
struct ThreadTeam : HelperThreads {
    /// `others` has room for all threads of the team but the calling one. `run(team, number)` is called on each
    /// thread, with number = 0 on the calling one.
    ThreadTeam(TeamThread* others, void (*run)(ThreadTeam& team, int number))
        : HelperThreads{end_team}, workers(others), work(run) {}

    static bool end_team(HelperThreads& self);

    TeamThread* workers;
    void (*work)(ThreadTeam& team, int number);
    int started = 0;                        ///< number of other threads that were started
    std::uint32_t process = 0;              ///< the process in which they were started
    std::atomic<std::uint32_t> working{0};  ///< number of other threads that are still at work
    std::atomic<bool> is_left{false};       ///< a jump has left the product, and the work has to end soon
};

/// The number of threads that may work on a product, the calling one included, and the smallest stack of a thread.
struct ThreadLimit {
    int count = 1;
    std::size_t (*least_stack)(const pthread_attr_t*) = nullptr;  ///< nullptr: unknown
};

/// Calls the team's work on up to `threads.count` threads at once, the calling one included, and returns when all
/// have returned. If the system refuses a thread, fewer run, so `work` has to share its tasks out by itself. The
/// other threads hold back all signals but those of faults. A signal handler may leave by siglongjmp: then the
/// others go on until the memory's next user ends them. This is no cancellation point, and changes nothing of the
/// calling thread.
void run_on_threads(ThreadTeam& team, ThreadLimit threads, const ScratchMemory& memory);

/// From now on, starts no threads in this process and in those that it forks. For a program that gives up rights by
/// a filter of system calls, which may end the process for starting a thread.
void start_no_more_threads();
bool may_start_threads();

}  // namespace fp32shim::blas
