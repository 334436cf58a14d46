// The time of a recording: the processor's own counter, which costs a fifth of what the kernel's clock does.
#pragma once

#include <cstdint>

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

namespace fp32shim::record {

/// The processor's counter: it runs at a constant rate, and on all processors alike. Not ordered with what is around
/// it.
inline std::uint64_t ticks() {
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

/// The counter and the kernel's clocks at one moment.
struct ClockPoint {
    std::uint64_t ticks = 0;
    std::int64_t monotonic_ns = 0;  ///< CLOCK_MONOTONIC
    std::int64_t realtime_ns = 0;   ///< since 1970, UTC; as far as the system's clock is right
};
/// A few system calls; leaves errno alone. Exact to some 50 ns.
ClockPoint read_clocks();

/// The counter's rate between two points, in ticks per second; 0 where they are no microsecond apart.
std::uint64_t ticks_per_second(const ClockPoint& from, const ClockPoint& to);

/// The counter's rate: known to the processor (aarch64), else measured from `since` on, and so the better the longer
/// ago that is: to some 50 ns of it. Waits where it is no 20 microseconds ago. Where the clock cannot be read, a
/// guess, and one line says so.
std::uint64_t measure_ticks_per_second(const ClockPoint& since);

}  // namespace fp32shim::record
