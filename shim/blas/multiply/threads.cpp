#include "shim/blas/multiply/threads.hpp"

#include <linux/futex.h>

#include <ctime>

#include "system/float_registers.hpp"
#include "system/raw_syscall.hpp"
#include "system/signal_hold.hpp"
#include "system/this_process.hpp"

namespace fp32shim::blas {
namespace {

constinit std::atomic<bool> starts_threads{true};

// This is done at the start of the process. In glibc before 2.36, a fork holds the lock of the list of handlers while
// it calls the program's handlers, and these may wait for a product.
__attribute__((constructor)) void handle_forks() { pthread_atfork(finish_helper_threads, nullptr, nullptr); }

void* start(void* argument) {
    auto& worker = *static_cast<TeamThread*>(argument);
    ThreadTeam& team = *worker.team;
    worker.kernel_id = static_cast<int>(system::raw::syscall6(SYS_gettid));
    team.work(team, worker.number);
    team.float_flags.fetch_or(system::float_flags(), std::memory_order_relaxed);
    if (team.working.fetch_sub(1, std::memory_order_acq_rel) == 1)
        system::raw::syscall6(SYS_futex, &team.working, FUTEX_WAKE_PRIVATE, 1);
    return nullptr;
}

void start_others(ThreadTeam& team, ThreadLimit threads) {
    constexpr std::size_t own_stack_bytes = std::size_t{256} << 10;
    const system::SignalHold hold;  // the new threads inherit the blocked signals, and no handler jumps out of this
                                    // function
    team.process = system::fork_generation();
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    // The stack also has the thread-local variables of all libraries. `least` includes their size.
    const std::size_t least = threads.least_stack == nullptr ? 0 : threads.least_stack(&attributes);
    pthread_attr_setstacksize(&attributes, own_stack_bytes + least);
    for (int number = 1; number < threads.count; ++number) {
        TeamThread& worker = team.workers[team.started];
        worker = {{}, &team, number};
        team.working.fetch_add(1, std::memory_order_relaxed);
        if (pthread_create(&worker.thread, &attributes, start, &worker) != 0) {
            team.working.fetch_sub(1, std::memory_order_relaxed);
            break;
        }
        ++team.started;
    }
    pthread_attr_destroy(&attributes);
}

/// Waits until the other threads have finished their work. Returns false if that takes longer than `time`; if `time`
/// is nullptr, there is no limit.
bool wait_for_others(ThreadTeam& team, const timespec* time) {
    for (;;) {
        const std::uint32_t working = team.working.load(std::memory_order_acquire);
        if (working == 0) return true;
        const long result = system::raw::syscall6(SYS_futex, &team.working, FUTEX_WAIT_PRIVATE, working, time);
        if (result == -ETIMEDOUT) return false;
    }
}

/// Joins the other threads, which have finished their work, so that their stacks are freed. A forked child does not
/// have them.
void join_others(ThreadTeam& team) {
    const system::SignalHold hold;
    if (team.process != system::fork_generation()) return;
    int cancel_state = 0;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state);
    for (; team.started > 0; --team.started) {
        const TeamThread& worker = team.workers[team.started - 1];
        pthread_join(worker.thread, nullptr);
        // pthread_join returns a moment before the kernel has removed the thread. A program that has only one thread
        // may do more, such as unshare(), and Python warns of a fork beside threads.
        const long process = system::raw::syscall6(SYS_getpid);
        for (int i = 0; i < 1000 && system::raw::syscall6(SYS_tgkill, process, worker.kernel_id, 0) == 0; ++i)
            system::raw::syscall6(SYS_sched_yield);
    }
    pthread_setcancelstate(cancel_state, nullptr);
}

}  // namespace

bool ThreadTeam::end_team(HelperThreads& self) {
    auto& team = static_cast<ThreadTeam&>(self);
    if (team.process != system::fork_generation()) return true;  // a forked child does not have the threads
    team.was_abandoned.store(true, std::memory_order_relaxed);
    const timespec a_second{1, 0};
    if (!wait_for_others(team, &a_second)) return false;
    join_others(team);
    return true;
}

void ThreadTeam::finish_team(HelperThreads& self) {
    auto& team = static_cast<ThreadTeam&>(self);
    if (team.process != system::fork_generation()) return;
    team.is_forking.store(true, std::memory_order_relaxed);
    wait_for_others(team, nullptr);
}

void run_on_threads(ThreadTeam& team, ThreadLimit threads, const ScratchMemory& memory) {
    if (threads.count <= 1 || memory.block == nullptr) return team.work(team, 0);
    set_helper_threads(memory, &team);
    start_others(team, threads);
    team.work(team, 0);
    wait_for_others(team, nullptr);
    join_others(team);
    set_helper_threads(memory, nullptr);
    system::set_float_flags(team.float_flags.load(std::memory_order_relaxed));
}

void start_no_more_threads() { starts_threads.store(false, std::memory_order_relaxed); }
bool may_start_threads() {
    return starts_threads.load(std::memory_order_relaxed) && !system::has_float_traps() &&
           !system::may_be_in_signal_handler();
}

}  // namespace fp32shim::blas
