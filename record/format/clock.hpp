// Reads the processor's own counter, from which the times in a recording are taken. Reading the counter costs a fifth
// of a call to the kernel's clock.
#pragma once

#include <atomic>
#include <cstdint>

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

namespace fp32shim::record {

/// True if reading the processor's counter would end this process by a signal (prctl: PR_TSC_SIGSEGV).
extern constinit std::atomic<bool> counter_traps;
/// Returns an estimate of the processor's counter, computed from the kernel's clock. Uses no vector registers.
std::uint64_t ticks_of_kernel_clock();
/// Makes ticks() use the kernel's clock from now on, and continue at the rate `ticks_per_second`.
void use_kernel_clock(std::uint64_t ticks_per_second);
/// Makes ticks() use the kernel's clock if reading the counter would end this process. A process can inherit this
/// restriction from its parent. ticks() then counts nanoseconds, because the counter's rate cannot be measured.
void use_kernel_clock_if_needed();

/// Reads the processor's counter, which has the same constant rate on all cores. The processor may reorder the
/// reading with neighbouring instructions. Precondition: !counter_traps.
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

/// Returns the processor's counter, or an estimate from the kernel's clock if reading the counter is not allowed.
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
/// Reads all clocks, exact to some 50 ns. Makes a few system calls and leaves errno alone.
ClockReading read_clocks();

/// Returns the counter's rate between two readings, in ticks per second, or 0 if they are less than a microsecond
/// apart.
std::uint64_t ticks_per_second(const ClockReading& from, const ClockReading& to);

/// Returns the counter's rate in ticks per second. On aarch64 the processor reports the rate. Elsewhere the function
/// waits until `since` is at least 20 microseconds ago and measures the rate from `since` to now; the error of both
/// times is some 50 ns. If the kernel's clock cannot be read, the function returns a guess and says so in one line on
/// stderr.
std::uint64_t measure_ticks_per_second(const ClockReading& since);

}  // namespace fp32shim::record
