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

/// Returns true if a thread that blocks the signals `blocked` may be in a signal handler, because one of these
/// signals has a handler: the kernel blocks a signal while its handler runs. Returns false in a handler with
/// SA_NODEFER. Makes no system call if no signal is blocked. Async-signal-safe.
inline bool may_be_in_signal_handler(SignalSet blocked) {
    for (int number = 1; blocked >> (number - 1) != 0; ++number) {
        if ((blocked & signal_bit(number)) == 0) continue;
        struct {
            void (*handler)(int);
            std::uint64_t others[3];
        } action{};  // this is the kernel's struct sigaction
        raw::syscall6(SYS_rt_sigaction, number, 0, &action, sizeof(SignalSet));
        if (action.handler != SIG_DFL && action.handler != SIG_IGN) return true;
        if (number == 64) break;
    }
    return false;
}
inline bool may_be_in_signal_handler() {
    SignalSet blocked = 0;
    raw::syscall6(SYS_rt_sigprocmask, SIG_BLOCK, 0, &blocked, sizeof(SignalSet));
    return may_be_in_signal_handler(blocked);
}

/// Blocks all signals except those of faults in the calling thread for the lifetime of the object. Makes two system
/// calls and allocates nothing. Objects may be nested.
class SignalHold {
  public:
    /// The signals of faults, which stay unblocked. If an instruction or a system call raises a fault signal that is
    /// blocked, the kernel kills the process. A program may also depend on its handlers for them, for instance to map
    /// memory on demand, or to answer system calls in a sandbox.
    static constexpr SignalSet fault_signals = signal_bit(SIGSEGV) | signal_bit(SIGBUS) | signal_bit(SIGFPE) |
                                               signal_bit(SIGILL) | signal_bit(SIGTRAP) | signal_bit(SIGSYS);

    /// glibc's setuid() and the like send this signal to all threads, and wait until each has handled it. Threads
    /// inherit blocked signals, so a thread that is made during a hold would never handle it.
    static constexpr SignalSet signal_of_setuid = signal_bit(33);

    SignalHold() {
        const SignalSet held = ~(fault_signals | signal_of_setuid);
        if (is_held_) raw::syscall6(SYS_rt_sigprocmask, SIG_BLOCK, &held, &before_, sizeof(SignalSet));
    }
    ~SignalHold() {
        if (is_held_) raw::syscall6(SYS_rt_sigprocmask, SIG_SETMASK, &before_, 0, sizeof(SignalSet));
    }
    SignalHold(const SignalHold&) = delete;
    SignalHold& operator=(const SignalHold&) = delete;

    /// Returns true if pthread_setspecific() may be called for this key. glibc allocates the values of a thread's
    /// keys from 32 on, and a signal handler may have interrupted malloc.
    bool may_set_thread_value(std::uint64_t key) const { return key < 32 || !may_be_in_signal_handler(before_); }

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
