#include "shim/loader/elf/readers.hpp"

#include <atomic>
#include <cstdint>

#include "system/raw_syscall.hpp"
#include "system/this_process.hpp"

namespace fp32shim::elf {
namespace {

// The number of readers (threads with a ReadGuard) and of threads in dlclose, in one word with fork_generation() of
// their process. A forked child does not have the threads of its parent, so in a child the counts are taken as 0.
//
//     63                32 31     17 16           15 14      0
//     | fork_generation() | closing | waited in vain | readers |
struct ReaderCounts {
    std::uint32_t process;
    std::uint16_t closing;
    bool waited_in_vain;  ///< a reader has waited too long for threads in dlclose; no reader waits until all of them
                          ///< have left dlclose
    std::uint16_t readers;
};

constexpr std::uint64_t count_mask = (1U << 15) - 1;

constexpr std::uint64_t pack(const ReaderCounts& counts) {
    return std::uint64_t{counts.process} << 32 | (counts.closing & count_mask) << 17 |
           std::uint64_t{counts.waited_in_vain} << 16 | (counts.readers & count_mask);
}

constinit std::atomic<std::uint64_t> packed_counts{0};
constinit std::atomic<int> closing_thread{0};

ReaderCounts unpack(std::uint64_t value, std::uint32_t self) {
    if (static_cast<std::uint32_t>(value >> 32) != self) return {self, 0, false, 0};
    return {self, static_cast<std::uint16_t>(value >> 17 & count_mask), (value >> 16 & 1) != 0,
            static_cast<std::uint16_t>(value & count_mask)};
}

ReaderCounts counts_now() { return unpack(packed_counts.load(), system::fork_generation()); }

/// Changes the counts atomically and returns the new counts. `self` is fork_generation().
template <class Change>
ReaderCounts change_counts(std::uint32_t self, Change change) {
    std::uint64_t before = packed_counts.load();
    for (;;) {
        ReaderCounts counts = unpack(before, self);
        change(counts);
        if (packed_counts.compare_exchange_weak(before, pack(counts))) return counts;
    }
}

// Reading takes microseconds, and unmapping takes milliseconds. If a wait takes longer, the awaited thread is itself
// waiting for this thread.
constexpr int max_attempts = 200;

/// Waits until `condition()` is true, at most some 20 ms. Returns false if the condition is still false.
template <class Condition>
bool wait_until(Condition condition) {
    for (int attempt = 0; attempt < max_attempts; ++attempt) {
        if (condition()) return true;
        const timespec a_tenth_of_a_millisecond{0, 100'000};
        system::raw::syscall6(SYS_nanosleep, &a_tenth_of_a_millisecond);
    }
    return condition();
}

}  // namespace

ReadGuard::ReadGuard() : process_(system::fork_generation()) {
    const auto begin = [](ReaderCounts& counts) { ++counts.readers; };
    // ReadGuard and CloseGuard both count themselves first and check the other's count second, so at least one sees
    // the other.
    const ReaderCounts counts = change_counts(process_, begin);
    if (counts.closing == 0 || counts.waited_in_vain) return;
    // The thread in dlclose may itself create a ReadGuard, in a destructor that multiplies. It must not wait for
    // itself.
    if (closing_thread.load() == system::raw::gettid()) return;
    change_counts(process_, [](ReaderCounts& now) { --now.readers; });
    if (!wait_until([] { return counts_now().closing == 0; }))
        change_counts(process_, [](ReaderCounts& now) { now.waited_in_vain = now.closing > 0; });
    change_counts(process_, begin);
}

ReadGuard::~ReadGuard() {
    // If a signal handler has forked in the meantime, the child must not end the parent's ReadGuard.
    if (system::fork_generation() != process_) return;
    change_counts(process_, [](ReaderCounts& counts) { --counts.readers; });
}

CloseGuard::CloseGuard() : process_(system::fork_generation()) {
    change_counts(process_, [](ReaderCounts& counts) { ++counts.closing; });
    closing_thread.store(system::raw::gettid());
    wait_until([] { return counts_now().readers == 0; });
}

CloseGuard::~CloseGuard() {
    if (system::fork_generation() != process_) return;
    change_counts(process_, [](ReaderCounts& counts) {
        if (--counts.closing == 0) counts.waited_in_vain = false;
    });
}

}  // namespace fp32shim::elf
