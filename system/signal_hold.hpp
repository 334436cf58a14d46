// Keeps signals away from the calling thread while the shim writes, and takes back those that its write caused. A log
// must not kill the program: not by SIGPIPE on a broken pipe, and not by SIGXFSZ beyond RLIMIT_FSIZE.
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
    /// Signals that a write can cause. SIGTTOU: a terminal may stop a background program that writes (`stty tostop`).
    static constexpr SignalSet by_writing = signal_bit(SIGPIPE) | signal_bit(SIGXFSZ) | signal_bit(SIGTTOU);
    /// Signals of faults: if one is blocked when an instruction or a system call causes it, the kernel ends the
    /// process. A program may depend on them: to map its memory on demand, or to answer system calls in a sandbox's
    /// handler.
    static constexpr SignalSet by_faults = signal_bit(SIGSEGV) | signal_bit(SIGBUS) | signal_bit(SIGFPE) |
                                           signal_bit(SIGILL) | signal_bit(SIGTRAP) | signal_bit(SIGSYS);
    /// All signals but by_faults: for sections that a signal handler which calls BLAS must not reenter.
    static constexpr SignalSet all = ~by_faults;

    explicit SignalHold(SignalSet held) {
        raw::syscall6(SYS_rt_sigprocmask, SIG_BLOCK, &held, &before_, sizeof(SignalSet));
        raw::syscall6(SYS_rt_sigpending, &pending_before_, sizeof(SignalSet));
    }
    ~SignalHold() { raw::syscall6(SYS_rt_sigprocmask, SIG_SETMASK, &before_, 0, sizeof(SignalSet)); }
    SignalHold(const SignalHold&) = delete;
    SignalHold& operator=(const SignalHold&) = delete;

    /// Consumes a pending signal that the shim's write has caused. A signal that was pending before stays pending.
    void take_back(int number) const {
        const SignalSet wanted = signal_bit(number);
        if (pending_before_ & wanted) return;
        const timespec at_once{};
        raw::uninterrupted(
            [&] { return raw::syscall6(SYS_rt_sigtimedwait, &wanted, 0, &at_once, sizeof(SignalSet)); });
    }

  private:
    SignalSet before_ = 0;
    SignalSet pending_before_ = 0;
};

}  // namespace fp32shim::system
