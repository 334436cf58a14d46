// Blocks signals in the calling thread during code that a signal handler must neither reenter nor leave by
// siglongjmp. Also removes the signals that the shim's own writing caused: a log must not kill the program by SIGPIPE
// on a broken pipe, or by SIGXFSZ beyond RLIMIT_FSIZE.
#pragma once

#include <errno.h>
#include <signal.h>

#include <atomic>
#include <cstdint>

#include "system/raw_syscall.hpp"

namespace fp32shim::system {

/// The kernel's set of signals. Bit `number - 1` stands for signal `number`.
using SignalSet = std::uint64_t;
constexpr SignalSet signal_bit(int number) { return SignalSet{1} << (number - 1); }

/// Blocks all signals except those of faults in the calling thread for the lifetime of the object. Makes two system
/// calls and allocates nothing. Objects may be nested.
class SignalHold {
  public:
    /// The signals of faults, which stay unblocked. If an instruction or a system call raises a fault signal that is
    /// blocked, the kernel kills the process. A program may also depend on its handlers for them, for instance to map
    /// memory on demand, or to answer system calls in a sandbox.
    static constexpr SignalSet fault_signals = signal_bit(SIGSEGV) | signal_bit(SIGBUS) | signal_bit(SIGFPE) |
                                               signal_bit(SIGILL) | signal_bit(SIGTRAP) | signal_bit(SIGSYS);

    SignalHold() {
        const SignalSet held = ~fault_signals;
        if (is_held_) raw::syscall6(SYS_rt_sigprocmask, SIG_BLOCK, &held, &before_, sizeof(SignalSet));
    }
    ~SignalHold() {
        if (is_held_) raw::syscall6(SYS_rt_sigprocmask, SIG_SETMASK, &before_, 0, sizeof(SignalSet));
    }
    SignalHold(const SignalHold&) = delete;
    SignalHold& operator=(const SignalHold&) = delete;

    /// Turns off blocking in the whole process. In strict seccomp the system calls that block signals would kill the
    /// thread.
    static void disable_signal_holding() { holds_signals.store(false, std::memory_order_relaxed); }

  private:
    static constinit inline std::atomic<bool> holds_signals{true};
    const bool is_held_ = holds_signals.load(std::memory_order_relaxed);
    SignalSet before_ = 0;
};

/// A SignalHold around a system call that writes. Writing may raise SIGPIPE, SIGXFSZ, or SIGTTOU (a terminal with
/// `stty tostop` stops a background program that writes).
class WriteSignalHold {
  public:
    WriteSignalHold() { raw::syscall6(SYS_rt_sigpending, &pending_before_, sizeof(SignalSet)); }

    /// Consumes a pending signal that the write raised. A signal that was already pending stays pending.
    void consume_pending_signal(int number) const {
        const SignalSet wanted = signal_bit(number);
        if (pending_before_ & wanted) return;
        const timespec at_once{};
        raw::retry_if_interrupted(
            [&] { return raw::syscall6(SYS_rt_sigtimedwait, &wanted, 0, &at_once, sizeof(SignalSet)); });
    }

  private:
    const SignalHold hold_;
    SignalSet pending_before_ = 0;
};

}  // namespace fp32shim::system
