#include "shim/elf/readers.hpp"

#include <atomic>

#include "record/raw_syscall.hpp"

namespace fp32shim::elf {
namespace {

constinit std::atomic<int> readers{0};
constinit std::atomic<int> closing{0};
constinit std::atomic<int> closing_thread{0};
constinit std::atomic<int> process{0};  ///< whose counts these are

// Reading takes microseconds; unmapping, milliseconds. Longer waits mean that the other side waits for us.
constexpr int attempts = 200;

void wait_until_zero(const std::atomic<int>& count) {
    for (int attempt = 0; attempt < attempts && count.load() > 0; ++attempt) {
        const timespec a_tenth_of_a_millisecond{0, 100'000};
        record::raw::syscall6(SYS_nanosleep, record::raw::address(&a_tenth_of_a_millisecond));
    }
}

/// A forked child inherits counts of threads that it does not have.
void forget_the_parents_threads() {
    const int self = record::raw::getpid();
    int known = process.load();
    if (known == self || !process.compare_exchange_strong(known, self)) return;
    if (known == 0) return;
    readers.store(0);
    closing.store(0);
}

}  // namespace

Reading::Reading() {
    forget_the_parents_threads();
    // Announced first and looked second, as Closing does: one of the two sees the other.
    readers.fetch_add(1);
    if (closing.load() == 0) return;
    // A destructor that runs inside dlclose and multiplies is its own closer.
    if (closing_thread.load() == record::raw::gettid()) return;
    readers.fetch_sub(1);
    wait_until_zero(closing);
    readers.fetch_add(1);
}

Reading::~Reading() { readers.fetch_sub(1); }

Closing::Closing() {
    forget_the_parents_threads();
    closing.fetch_add(1);
    closing_thread.store(record::raw::gettid());
    wait_until_zero(readers);
}

Closing::~Closing() { closing.fetch_sub(1); }

}  // namespace fp32shim::elf
