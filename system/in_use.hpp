// Tells a thread whether the code that it has interrupted, as a signal handler, was using a thing of the thread's. A
// handler may also leave that code for good, by siglongjmp: such a use is found to have ended.
#pragma once

#include <signal.h>

#include <atomic>
#include <cstdint>

#include "system/raw_syscall.hpp"

namespace fp32shim::system {

/// The use of a thing by one thread. All zeros is an object that is not in use.
///
/// A use is known by its stack pointer. Stacks grow downwards, and a handler runs below what it interrupts: code that
/// is at or above the stack pointer of a use, on the same stack, has come back from it without an end(). Below it,
/// code cannot tell the two apart, and finds the thing in use. A handler on an alternate stack compares nothing with
/// the stacks of others, unless the program asked the kernel not to say so (SS_AUTODISARM).
class InUse {
  public:
    /// Begins a use. Returns false if the thing is in use. A system call only if it is, or was left in use.
    [[gnu::always_inline]] bool begin() {
        if (!is_free() && !was_left_by_jump(user_, stack_pointer())) [[unlikely]]
            return false;
        begin_free();
        return true;
    }
    /// Returns false if the thing is in use, or was left in use. Calls nothing.
    [[gnu::always_inline]] bool is_free() const { return user_ == 0; }
    /// Begins a use. Calls nothing. Precondition: is_free().
    [[gnu::always_inline]] void begin_free() {
        // On x86-64 by one instruction: this is done for every call.
#if defined(__x86_64__)
        __asm__ volatile("mov %%rsp, %0" : "=m"(user_));
#else
        user_ = stack_pointer();
#endif
        std::atomic_signal_fence(std::memory_order_seq_cst);
    }
    [[gnu::always_inline]] void end() {
        std::atomic_signal_fence(std::memory_order_seq_cst);
        user_ = 0;
    }

  private:
    [[gnu::always_inline]] static std::uintptr_t stack_pointer() {
        std::uintptr_t value;
#if defined(__x86_64__)
        __asm__("mov %%rsp, %0" : "=r"(value));
#else
        __asm__("mov %0, sp" : "=r"(value));
#endif
        return value;
    }
    [[gnu::noinline, gnu::cold]] static bool was_left_by_jump(std::uintptr_t user, std::uintptr_t self) {
        stack_t alternate{};
        if (raw::syscall6(SYS_sigaltstack, 0, &alternate) == 0 && (alternate.ss_flags & SS_ONSTACK) != 0 &&
            user - reinterpret_cast<std::uintptr_t>(alternate.ss_sp) >= alternate.ss_size)
            return false;
        return self >= user;
    }

    std::uintptr_t
        user_;  // of the using code; 0: none. Fences order it for signal handlers, as nothing else may see it.
};

/// One use, for the object's lifetime. Converts to false if the thing is in use already.
class Use {
  public:
    [[gnu::always_inline]] explicit Use(InUse& thing) : thing_(thing), is_mine_(thing.begin()) {}
    [[gnu::always_inline]] ~Use() {
        if (is_mine_) thing_.end();
    }
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;
    explicit operator bool() const { return is_mine_; }

  private:
    InUse& thing_;
    const bool is_mine_;
};

}  // namespace fp32shim::system
