// A lock that a forked child can take even if, at the fork, a thread of the parent held it.
#pragma once

#include <linux/futex.h>

#include <atomic>
#include <cstdint>

#include "system/raw_syscall.hpp"
#include "system/signal_hold.hpp"
#include "system/this_process.hpp"

namespace fp32shim::system {

/// A lock that stores which process holds it. Invariant: `holder_` is 0 if the lock is free, and fork_generation() of
/// the process that holds the lock otherwise. If it is the number of another process, fork has copied it from there,
/// and the lock is free. The lock is not recursive. Signals must be blocked while it is held (HeldLock blocks them):
/// otherwise a signal handler that calls BLAS would wait for its own thread.
class ForkSafeLock {
  public:
    /// Acquires the lock, or returns false. Waits at most about five seconds, so that a log on a hanging file server
    /// cannot block the program for good. After a wait has failed, the threads of this process do not wait again
    /// until one of them has acquired the lock.
    bool acquire() {
        const std::uint32_t self = fork_generation();
        const bool may_wait = waited_in_vain_.load(std::memory_order_relaxed) != self;
        for (int attempt = 0; attempt < 500; ++attempt) {
            std::uint32_t holder = holder_.load(std::memory_order_relaxed);
            if (holder != self &&
                holder_.compare_exchange_strong(holder, self, std::memory_order_acquire, std::memory_order_relaxed)) {
                if (!may_wait) waited_in_vain_.store(0, std::memory_order_relaxed);
                return true;
            }
            if (!may_wait) return false;
            const timespec ten_milliseconds{0, 10'000'000};
            raw::syscall6(SYS_futex, &holder_, FUTEX_WAIT_PRIVATE, self, &ten_milliseconds);
        }
        waited_in_vain_.store(self, std::memory_order_relaxed);
        return false;
    }

    void release() {
        holder_.store(0, std::memory_order_release);
        raw::syscall6(SYS_futex, &holder_, FUTEX_WAKE_PRIVATE, 1);
    }

  private:
    std::atomic<std::uint32_t> holder_{0};
    std::atomic<std::uint32_t> waited_in_vain_{0};  // fork_generation() of the process in which a wait has failed
};

/// Holds a lock for the object's lifetime, and blocks signals meanwhile. Converts to false if the lock could not be
/// acquired.
class HeldLock {
  public:
    explicit HeldLock(ForkSafeLock& lock) : lock_(lock), is_held_(lock.acquire()) {}
    ~HeldLock() {
        if (is_held_) lock_.release();
    }
    HeldLock(const HeldLock&) = delete;
    HeldLock& operator=(const HeldLock&) = delete;
    explicit operator bool() const { return is_held_; }

  private:
    const SignalHold hold_;
    ForkSafeLock& lock_;
    const bool is_held_;
};

}  // namespace fp32shim::system
