// The time of a recording: the processor's own counter. Reading it costs a fifth of a call to the kernel's clock.
#pragma once

#include <atomic>
#include <cstdint>

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

namespace fp32shim::record {

/// True if reading the processor's counter would end this process by a signal (prctl: PR_TSC_SIGSEGV).
extern constinit std::atomic<bool> counter_traps;
/// Returns an estimate of the processor's counter, from the kernel's clock. Touches no vector register.
std::uint64_t ticks_of_kernel_clock();
/// Makes ticks() use the kernel's clock from now on. `ticks_per_second`: rate at which ticks() continues.
void use_kernel_clock(std::uint64_t ticks_per_second);
/// Makes ticks() use the kernel's clock if reading the counter would end this process. A child inherits that state
/// from its parent. ticks() then counts nanoseconds, since the counter's rate cannot be measured.
void use_kernel_clock_if_needed();

/// Reads the processor's counter, which has one constant rate on all processors. The processor may read it before or
/// after neighbouring instructions. Precondition: !counter_traps.
inline std::uint64_t processor_counter() {
#if defined(__x86_64__)
    return __rdtsc();
#elif defined(__aarch64__)
    std::uint64_t value;
    asm volatile("mrs %0, cntvct_el0" : "=r"(value));
    return value;
#else
#error "fp32shim supports x86-64 and aarch64"
#endif
}

/// Returns the counter; if reading the counter is not allowed, an estimate by the kernel's clock.
inline std::uint64_t ticks() {
    if (counter_traps.load(std::memory_order_relaxed)) [[unlikely]]
        return ticks_of_kernel_clock();
    return processor_counter();
}

/// The processor's counter and the kernel's clocks at one moment.
struct ClockReading {
    std::uint64_t ticks = 0;
    std::int64_t monotonic_ns = 0;  ///< time by CLOCK_MONOTONIC
    std::int64_t realtime_ns = 0;   ///< time by the system's clock, since 1970, UTC
};
/// Reads all clocks, exact to some 50 ns. Makes a few system calls; leaves errno alone.
ClockReading read_clocks();

/// Returns the counter's rate between two points, in ticks per second; 0: they are less than a microsecond apart.
std::uint64_t ticks_per_second(const ClockReading& from, const ClockReading& to);

/// Returns the counter's rate in ticks per second. On aarch64 the processor reports it. Elsewhere it is measured from
/// `since` to now, with an error of some 50 ns, after a wait until `since` is 20 microseconds ago. If the clock
/// cannot be read, returns a guess, and says so in one line on stderr.
std::uint64_t measure_ticks_per_second(const ClockReading& since);

}  // namespace fp32shim::record
