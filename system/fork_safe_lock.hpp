// A lock that a forked child can take even if, at the fork, a thread of the parent held it.
#pragma once

#include <linux/futex.h>

#include <atomic>
#include <cstdint>

#include "system/raw_syscall.hpp"
#include "system/signal_hold.hpp"
#include "system/this_process.hpp"

namespace fp32shim::system {

/// A lock that stores the process of its holder. Invariant: `holder_` is 0 (free) or fork_generation() of the holder.
/// Any other value was copied by fork and also means free. Not recursive. Signals must be blocked while the lock is
/// held (HeldLock): otherwise a handler that calls BLAS would wait for its own thread.
class ForkSafeLock {
  public:
    /// Waits at most about five seconds, so that a log on a hanging file server cannot block the program for good.
    /// Once a wait was in vain, no thread waits again until the lock has been released. Returns false on failure.
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
    std::atomic<std::uint32_t> waited_in_vain_{0};  // the process in which the last wait was in vain
};

/// Holds a lock for the object's lifetime, under a SignalHold. Converts to false if the lock could not be acquired.
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
