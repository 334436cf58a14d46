#include "shim/elf/readers.hpp"

#include <sched.h>

#include <atomic>

#include "record/raw_syscall.hpp"

namespace fp32shim::elf {
namespace {

constinit std::atomic<int> readers{0};
constinit std::atomic<int> closing{0};
constinit std::atomic<int> closing_thread{0};

// Reading takes microseconds; unmapping, milliseconds. Longer waits mean that the other side waits for us, or that a
// forked child has inherited a count of a thread that it does not have.
constexpr int attempts = 200;

void wait_until_zero(const std::atomic<int>& count) {
    for (int attempt = 0; attempt < attempts && count.load(std::memory_order_acquire) > 0; ++attempt) {
        const timespec a_tenth_of_a_millisecond{0, 100'000};
        record::raw::syscall6(SYS_nanosleep, record::raw::address(&a_tenth_of_a_millisecond));
    }
}

int this_thread() { return static_cast<int>(record::raw::syscall6(SYS_gettid)); }

}  // namespace

Reading::Reading() {
    // A destructor that runs inside dlclose and multiplies is its own closer.
    if (closing.load(std::memory_order_acquire) > 0 && closing_thread.load(std::memory_order_relaxed) != this_thread())
        wait_until_zero(closing);
    readers.fetch_add(1, std::memory_order_acq_rel);
}

Reading::~Reading() { readers.fetch_sub(1, std::memory_order_acq_rel); }

Closing::Closing() {
    closing.fetch_add(1, std::memory_order_acq_rel);
    closing_thread.store(this_thread(), std::memory_order_relaxed);
    wait_until_zero(readers);
}

Closing::~Closing() { closing.fetch_sub(1, std::memory_order_acq_rel); }

}  // namespace fp32shim::elf
