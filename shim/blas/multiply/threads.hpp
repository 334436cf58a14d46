// Threads that exist only during one product. There is no thread pool, since a pool would outlive the product, and a
// forked child would not have its threads.
#pragma once

#include <pthread.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "shim/blas/emulate/scratch.hpp"
#include "system/float_registers.hpp"

namespace fp32shim::blas {

struct ThreadTeam;

/// A thread of a team, other than the calling thread.
struct TeamThread {
    pthread_t thread;
    ThreadTeam* team;
    int number;
    int kernel_id = 0;  ///< the thread's id in the kernel; 0 until the thread runs
};

/// The threads that work on one product. The team and its `workers` lie in the product's scratch memory.
struct ThreadTeam : HelperThreads {
    /// `others` has room for all threads of the team except the calling thread. `run(team, number)` is called on each
    /// thread; `number` is 0 on the calling thread.
    ThreadTeam(TeamThread* others, void (*run)(ThreadTeam& team, int number))
        : HelperThreads{end_team, finish_team}, workers(others), work(run) {}

    static bool end_team(HelperThreads& self);
    static void finish_team(HelperThreads& self);

    TeamThread* workers;
    void (*work)(ThreadTeam& team, int number);
    int started = 0;                        ///< number of other threads that were started
    std::uint32_t process = 0;              ///< the fork generation of the process in which the other threads were
                                            ///< started
    std::atomic<std::uint32_t> working{0};  ///< number of other threads that are still working
    std::atomic<system::FloatRegister> float_flags{
        0};  ///< floating-point exceptions that the other threads have raised
    /// True if the other threads must not begin anything more, because the calling thread is about to fork.
    std::atomic<bool> is_forking{false};
    /// True if a jump has left the product, so that the work has to end soon.
    std::atomic<bool> was_abandoned{false};
};

/// The number of threads that may work on a product, including the calling thread, and a function that returns the
/// smallest stack of a thread.
struct ThreadLimit {
    int count = 1;
    std::size_t (*least_stack)(const pthread_attr_t*) = nullptr;  ///< nullptr if the smallest stack is unknown
};

/// Calls the team's work on up to `threads.count` threads at once, including the calling thread, and returns when the
/// work has returned on all threads. If the system refuses to start a thread, fewer threads run, so `work` has to
/// distribute its tasks by itself. The other threads block all signals except those of faults. A signal handler may
/// leave by siglongjmp: then the other threads go on until the next user of the memory ends them. The function is not
/// a cancellation point. Of the state of the calling thread, it changes only the flags of floating-point exceptions,
/// to which it adds those of the other threads.
void run_on_threads(ThreadTeam& team, ThreadLimit threads, const ScratchMemory& memory);

/// Makes may_start_threads() return false from now on, in this process and in its children. This is for a program
/// that installs a filter of system calls (seccomp), which may end the process if it starts a thread.
void start_no_more_threads();
/// Returns false also where a signal handler may run, since it may have interrupted malloc, which starts of threads
/// call, and where a floating-point exception raises SIGFPE, since the signal's handler may leave the product by
/// siglongjmp, which works only on the calling thread.
bool may_start_threads();

}  // namespace fp32shim::blas
