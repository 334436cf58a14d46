// Tells a signal handler if the code that it interrupted was using an object of this thread. If a handler leaves the
// interrupted code for good by siglongjmp, the use of the object counts as ended as soon as the stack shows that.
#pragma once

#include <signal.h>

#include <atomic>
#include <cstdint>

#include "system/raw_syscall.hpp"

namespace fp32shim::system {

/// Marks an object as in use by its thread. Zeroed memory is a valid mark, which says that the object is not in use.
///
/// A use is identified by the stack pointer of the code that began it. Stacks grow downwards, and a handler runs
/// below the code that it interrupted. So if code runs at or above the stack pointer of a use, on the same stack, the
/// using code was left without an end_use(). Below that stack pointer, an abandoned use looks like a current one, and
/// counts as current. If code runs on an alternate signal stack and the use began on another stack, the use counts as
/// current without a comparison. If the program set SS_AUTODISARM, the kernel hides the alternate stack, and the
/// stack pointers are compared after all.
class ReentrancyFlag {
  public:
    /// Begins a use. Returns false if the object is in use. Makes a system call only if an earlier use has not ended.
    [[gnu::always_inline]] bool begin_use() {
        if (!is_free() && !was_left_by_jump(user_, stack_pointer())) [[unlikely]]
            return false;
        begin_use_when_free();
        return true;
    }
    /// Returns true if no use is marked. An abandoned use is still marked. Calls nothing.
    [[gnu::always_inline]] bool is_free() const { return user_ == 0; }
    /// Begins a use. Calls nothing. Precondition: is_free().
    [[gnu::always_inline]] void begin_use_when_free() {
        // On x86-64, this is a single instruction, because it is executed at each BLAS call of the program.
#if defined(__x86_64__)
        __asm__ volatile("mov %%rsp, %0" : "=m"(user_));
#else
        user_ = stack_pointer();
#endif
        std::atomic_signal_fence(std::memory_order_seq_cst);
    }
    [[gnu::always_inline]] void end_use() {
        std::atomic_signal_fence(std::memory_order_seq_cst);
        user_ = 0;
    }

    /// Returns true if code at the stack address `self` must have come back from a use at the address `user`, so that
    /// the use was left by a jump.
    [[gnu::noinline, gnu::cold]] static bool was_left_by_jump(std::uintptr_t user, std::uintptr_t self) {
        stack_t alternate{};
        if (raw::syscall6(SYS_sigaltstack, 0, &alternate) == 0 && (alternate.ss_flags & SS_ONSTACK) != 0 &&
            user - reinterpret_cast<std::uintptr_t>(alternate.ss_sp) >= alternate.ss_size)
            return false;
        return self >= user;
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

    // The stack pointer of the code that uses the object, or 0 if it is not in use. No other thread reads this
    // member, so fences for signal handlers suffice.
    std::uintptr_t user_;
};

/// Marks an object as in use for the guard's lifetime. Converts to false if the object was in use already.
class ReentrancyGuard {
  public:
    [[gnu::always_inline]] explicit ReentrancyGuard(ReentrancyFlag& object)
        : object_(object), is_held_(object.begin_use()) {}
    [[gnu::always_inline]] ~ReentrancyGuard() {
        if (is_held_) object_.end_use();
    }
    ReentrancyGuard(const ReentrancyGuard&) = delete;
    ReentrancyGuard& operator=(const ReentrancyGuard&) = delete;
    explicit operator bool() const { return is_held_; }

  private:
    ReentrancyFlag& object_;
    const bool is_held_;
};

}  // namespace fp32shim::system
