// Tells ThreadSanitizer, if the program uses it, what it cannot see. ThreadSanitizer watches the functions of libc,
// but the shim orders threads by its own atomics and maps memory by its own system calls.
#pragma once

// NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming)
extern "C" {
__attribute__((weak)) void __tsan_acquire(void* address);
__attribute__((weak)) void __tsan_release(void* address);
}
// NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming)

namespace fp32shim::system {

/// Tells ThreadSanitizer that this thread sees everything that other threads did before they called note_release()
/// with `address`.
inline void note_acquire(const void* address) {
    if (__tsan_acquire != nullptr) __tsan_acquire(const_cast<void*>(address));
}
/// Tells ThreadSanitizer that what this thread has done so far is visible to threads that later call note_acquire()
/// with `address`.
inline void note_release(const void* address) {
    if (__tsan_release != nullptr) __tsan_release(const_cast<void*>(address));
}

/// The address of this variable stands for all memory that the shim maps. One address is enough, because the kernel
/// reuses an address only after it was unmapped.
inline char mapped_memory_of_all_threads = 0;

/// Must be called after the shim has mapped memory by its own system call.
inline void note_mapped() { note_acquire(&mapped_memory_of_all_threads); }
/// Must be called before the shim unmaps memory by its own system call.
inline void note_unmapping() { note_release(&mapped_memory_of_all_threads); }

}  // namespace fp32shim::system
