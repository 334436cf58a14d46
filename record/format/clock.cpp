#include "record/format/clock.hpp"

#include <algorithm>

#include <sys/prctl.h>

#include "system/raw_syscall.hpp"
#include "system/stderr_line.hpp"

namespace fp32shim::record {

using system::raw::clock_ns;

namespace {

constexpr std::int64_t second_ns = 1'000'000'000;
[[maybe_unused]] constexpr std::uint64_t assumed_ticks_per_second = 2'000'000'000;

// The ticks and the time at which ticks_of_kernel_clock() starts to count, and the rate at which it counts. They are
// written before counter_traps is set.
constinit std::uint64_t ticks_before = 0, rate = second_ns;
constinit std::int64_t begun_ns = 0;

}  // namespace

constinit std::atomic<bool> counter_traps{false};

#if defined(__x86_64__)
__attribute__((target("general-regs-only")))
#endif
std::uint64_t
ticks_of_kernel_clock() {
    const auto elapsed_ns = static_cast<std::uint64_t>(clock_ns(CLOCK_MONOTONIC) - begun_ns);
    return ticks_before + elapsed_ns / second_ns * rate + elapsed_ns % second_ns * rate / second_ns;
}

void use_kernel_clock(std::uint64_t ticks_per_second) {
    if (counter_traps.load(std::memory_order_relaxed)) return;
    const ClockReading now = read_clocks();
    ticks_before = now.ticks;
    begun_ns = now.monotonic_ns;
    rate = ticks_per_second;
    counter_traps.store(true, std::memory_order_release);
}

void use_kernel_clock_if_needed() {
#if defined(__x86_64__)
    int mode = PR_TSC_ENABLE;
    if (system::raw::syscall6(SYS_prctl, PR_GET_TSC, &mode) == 0 && mode == PR_TSC_SIGSEGV)
        counter_traps.store(true, std::memory_order_release);
#endif
}

ClockReading read_clocks() {
    // The shortest of several attempts is taken, because the thread may have been interrupted during a longer one.
    ClockReading best;
    std::uint64_t shortest = UINT64_MAX;
    for (int attempt = 0; attempt < 5; ++attempt) {
        const std::uint64_t before = ticks();
        const std::int64_t monotonic = clock_ns(CLOCK_MONOTONIC);
        const std::uint64_t after = ticks();
        if (after - before >= shortest) continue;
        shortest = after - before;
        best = {before + (after - before) / 2, monotonic, 0};
    }
    best.realtime_ns = system::raw::realtime_ns() - (clock_ns(CLOCK_MONOTONIC) - best.monotonic_ns);
    return best;
}

std::uint64_t ticks_per_second(const ClockReading& from, const ClockReading& to) {
    const std::int64_t elapsed_ns = to.monotonic_ns - from.monotonic_ns;
    if (elapsed_ns < 1000 || to.ticks <= from.ticks) return 0;
    // The rate is computed with integers, because the program may trap inexact floating-point results or test for
    // them.
    __extension__ using Wide = unsigned __int128;
    return static_cast<std::uint64_t>(Wide{to.ticks - from.ticks} * second_ns /
                                      static_cast<std::uint64_t>(elapsed_ns));
}

std::uint64_t measure_ticks_per_second([[maybe_unused]] const ClockReading& since) {
#if defined(__aarch64__)
    std::uint64_t frequency;
    asm volatile("mrs %0, cntfrq_el0" : "=r"(frequency));
    return frequency;
#else
    constexpr std::int64_t long_enough_ns = 20'000;
    // These limits end the loop in a sandbox that refuses clock_gettime or nanosleep.
    constexpr int max_attempts = 10'000, max_pauses = 3;
    int pauses = 0;
    for (int attempt = 0; attempt < max_attempts && pauses < max_pauses; ++attempt) {
        const std::int64_t left_ns = long_enough_ns - (clock_ns(CLOCK_MONOTONIC) - since.monotonic_ns);
        if (left_ns <= 0) break;
        const timespec pause{0, std::min(left_ns, long_enough_ns)};
        if (system::raw::syscall6(SYS_nanosleep, &pause, 0) == 0) ++pauses;
    }
    const std::uint64_t measured = ticks_per_second(since, read_clocks());
    if (measured != 0) return measured;
    static constinit system::OncePerProcess said;
    if (said.is_first_call())
        system::stderr_line(
            "the kernel's clock cannot be read here; times in the recording assume a 2 GHz processor; "
            "allow clock_gettime in the sandbox");
    return assumed_ticks_per_second;
#endif
}

}  // namespace fp32shim::record
