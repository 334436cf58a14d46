// Keeps signals away from the calling thread while the shim writes, and takes back those that its write caused.
// A log on a broken pipe must not kill the program by SIGPIPE, nor one beyond RLIMIT_FSIZE by SIGXFSZ.
#pragma once

#include <errno.h>
#include <signal.h>

#include <cstdint>

#include "system/raw_syscall.hpp"

namespace fp32shim::system {

/// The kernel's signal set: signal `number` is bit `number - 1`.
using SignalSet = std::uint64_t;
constexpr SignalSet signal_bit(int number) { return SignalSet{1} << (number - 1); }

/// Blocks signals for the lifetime of the object. For one thread; a few system calls, no allocation.
class SignalHold {
  public:
    /// What a write can cause. SIGTTOU: a background program's terminal would otherwise stop it (`stty tostop`).
    static constexpr SignalSet by_writing = signal_bit(SIGPIPE) | signal_bit(SIGXFSZ) | signal_bit(SIGTTOU);
    /// What the kernel ends a process for if it is blocked when an instruction or a system call causes it. A program
    /// may live on it: one that maps its memory on demand, or whose sandbox answers system calls in a handler.
    static constexpr SignalSet by_faults = signal_bit(SIGSEGV) | signal_bit(SIGBUS) | signal_bit(SIGFPE) |
                                           signal_bit(SIGILL) | signal_bit(SIGTRAP) | signal_bit(SIGSYS);
    /// Everything else: for sections that a signal handler which calls BLAS must not enter twice.
    static constexpr SignalSet all = ~by_faults;

    explicit SignalHold(SignalSet held) {
        raw::syscall6(SYS_rt_sigprocmask, SIG_BLOCK, raw::address(&held), raw::address(&before_), sizeof(SignalSet));
        raw::syscall6(SYS_rt_sigpending, raw::address(&pending_before_), sizeof(SignalSet));
    }
    ~SignalHold() { raw::syscall6(SYS_rt_sigprocmask, SIG_SETMASK, raw::address(&before_), 0, sizeof(SignalSet)); }
    SignalHold(const SignalHold&) = delete;
    SignalHold& operator=(const SignalHold&) = delete;

    /// Removes a held signal that our write has just caused. One that was pending before stays the program's.
    void take_back(int number) const {
        const SignalSet wanted = signal_bit(number);
        if (pending_before_ & wanted) return;
        const timespec at_once{};
        raw::uninterrupted([&] {
            return raw::syscall6(SYS_rt_sigtimedwait, raw::address(&wanted), 0, raw::address(&at_once),
                                 sizeof(SignalSet));
        });
    }

  private:
    SignalSet before_ = 0;
    SignalSet pending_before_ = 0;
};

}  // namespace fp32shim::system
