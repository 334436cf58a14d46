// Tells ThreadSanitizer, if the program has it, what it cannot see: it watches libc's functions, and the shim orders
// threads by its own atomics and takes memory by system calls of its own.
#pragma once

// NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming)
extern "C" {
__attribute__((weak)) void __tsan_acquire(void* address);
__attribute__((weak)) void __tsan_release(void* address);
}
// NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming)

namespace fp32shim::system {

/// Notes that this thread sees what other threads have done before they noted a release of the same address.
inline void note_acquire(const void* address) {
    if (__tsan_acquire != nullptr) __tsan_acquire(const_cast<void*>(address));
}
inline void note_release(const void* address) {
    if (__tsan_release != nullptr) __tsan_release(const_cast<void*>(address));
}

/// The address of this variable stands for all memory that the shim maps. The kernel reuses an address only after it
/// was unmapped.
inline char mapped_memory_of_all_threads = 0;

/// note_mapped() is called after the shim has mapped memory by a system call of its own, note_unmapping() before the
/// shim unmaps it.
inline void note_mapped() { note_acquire(&mapped_memory_of_all_threads); }
inline void note_unmapping() { note_release(&mapped_memory_of_all_threads); }

}  // namespace fp32shim::system
