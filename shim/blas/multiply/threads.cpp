#include "shim/blas/multiply/threads.hpp"

#include <linux/futex.h>

#include <ctime>

#include "system/raw_syscall.hpp"
#include "system/signal_hold.hpp"
#include "system/this_process.hpp"

namespace fp32shim::blas {
namespace {

constinit std::atomic<bool> starts_threads{true};

void* start(void* argument) {
    const auto& worker = *static_cast<const Worker*>(argument);
    Crew& crew = *worker.crew;
    crew.work(crew, worker.number);
    if (crew.working.fetch_sub(1, std::memory_order_acq_rel) == 1)
        system::raw::syscall6(SYS_futex, &crew.working, FUTEX_WAKE_PRIVATE, 1);
    return nullptr;
}

void start_others(Crew& crew, Threads threads) {
    constexpr std::size_t own_stack_bytes = std::size_t{256} << 10;
    const system::SignalHold hold;  // the new threads inherit it, and no handler leaves the crew half made
    crew.process = system::fork_generation();
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    // The thread-local variables of all libraries are on the stack, too.
    const std::size_t least = threads.least_stack == nullptr ? 0 : threads.least_stack(&attributes);
    pthread_attr_setstacksize(&attributes, own_stack_bytes + least);
    for (int number = 1; number < threads.count; ++number) {
        Worker& worker = crew.workers[crew.started];
        worker = {{}, &crew, number};
        crew.working.fetch_add(1, std::memory_order_relaxed);
        if (pthread_create(&worker.thread, &attributes, start, &worker) != 0) {
            crew.working.fetch_sub(1, std::memory_order_relaxed);
            break;
        }
        ++crew.started;
    }
    pthread_attr_destroy(&attributes);
}

/// Waits until the others have finished their work. Returns false after `time`; nullptr: there is no limit.
bool wait_for_others(Crew& crew, const timespec* time) {
    for (;;) {
        const std::uint32_t working = crew.working.load(std::memory_order_acquire);
        if (working == 0) return true;
        const long result = system::raw::syscall6(SYS_futex, &crew.working, FUTEX_WAIT_PRIVATE, working, time);
        if (result == -ETIMEDOUT) return false;
    }
}

/// Frees the stacks of others, which have finished.
void join_others(Crew& crew) {
    const system::SignalHold hold;
    int cancel_state = 0;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state);
    for (; crew.started > 0; --crew.started) pthread_join(crew.workers[crew.started - 1].thread, nullptr);
    pthread_setcancelstate(cancel_state, nullptr);
}

}  // namespace

bool Crew::end_crew(Helpers& self) {
    auto& crew = static_cast<Crew&>(self);
    if (crew.process != system::fork_generation()) return true;  // a forked child does not have them
    crew.is_left.store(true, std::memory_order_relaxed);
    const timespec a_second{1, 0};
    if (!wait_for_others(crew, &a_second)) return false;
    join_others(crew);
    return true;
}

void run_on_threads(Crew& crew, Threads threads, const Scratch& memory) {
    if (threads.count <= 1 || memory.block == nullptr) return crew.work(crew, 0);
    start_others(crew, threads);
    set_helpers(memory, &crew);
    crew.work(crew, 0);
    wait_for_others(crew, nullptr);
    join_others(crew);
    set_helpers(memory, nullptr);
}

void start_no_more_threads() { starts_threads.store(false, std::memory_order_relaxed); }
bool may_start_threads() { return starts_threads.load(std::memory_order_relaxed); }

}  // namespace fp32shim::blas
