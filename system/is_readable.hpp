// Asks the kernel whether memory can be read.
#pragma once

#include <cerrno>
#include <cstdint>

#include "system/signal_hold.hpp"

namespace fp32shim::system {

/// Returns true if the word of 8 bytes that contains `address` can be read. Async-signal-safe.
///
/// Passes the address to rt_sigprocmask as a set of signals to block, and restores the mask afterwards: the kernel
/// answers EFAULT if it cannot read the set. No sandbox forbids this system call, and valgrind does not complain
/// about the address.
inline bool is_readable(std::uintptr_t address) {
    // Without the hold, a signal handler that leaves by siglongjmp would leave the wrong mask.
    const SignalHold hold;
    SignalSet before = 0;
    const long result =
        raw::syscall6(SYS_rt_sigprocmask, SIG_BLOCK, address & ~std::uintptr_t{7}, &before, sizeof before);
    if (result == 0) raw::syscall6(SYS_rt_sigprocmask, SIG_SETMASK, &before, 0, sizeof before);
    return result != -EFAULT;
}

}  // namespace fp32shim::system
