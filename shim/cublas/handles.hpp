// What the shim knows of the program's handles: device, math mode. A cublasHandle_t can be passed where a
// cublasLtHandle_t is expected, so both are kept together.
#pragma once

#include <pthread.h>

#include <atomic>
#include <cstdint>

#include "shim/cublas/library.hpp"
#include "shim/cublas/plan_key.hpp"

namespace fp32shim::cublas {

/// A handle's math mode is shared state: whoever changes it for the length of a call, or depends on it, holds this.
/// The same thread may take it again (a logging callback of cuBLAS's may multiply). Free in a forked child.
class HandleLock {
  public:
    void acquire();
    void release();

  private:
    std::atomic<std::uint32_t> state_;  ///< 0: free, 1: held, 2: held, and somebody waits
    std::atomic<const void*> owner_;
    std::uint32_t depth_;
};

/// Never freed; a destroyed handle's record is taken over when another handle gets its address. It is complete when
/// others can find it.
struct HandleRecord {
    std::atomic<Handle> handle;
    std::atomic<bool> destroyed;
    std::atomic<Device> device;            ///< see device_of
    std::atomic<std::uint32_t> questions;  ///< how often it was asked for again
    std::atomic<std::uint64_t> key;        ///< of compute capability and math mode, as last seen, or key_unknown
    HandleLock* lock;
    HandleRecord* next;

    // While the lock is held:
    bool runs_under_other_mode;  ///< a product runs with another math mode than the program's
    std::int32_t program_mode;   ///< the program's, then
};

constexpr std::int32_t math_unknown = -1;

constexpr std::size_t handle_bucket_count = 1024;
extern constinit std::atomic<HandleRecord*> handle_buckets[handle_bucket_count];
inline std::size_t handle_bucket(Handle handle) {
    return (reinterpret_cast<std::uintptr_t>(handle) * 0x9e3779b97f4a7c15U) >> 54;
}

/// The record of this address, if there is one; the handle may be destroyed. Lock-free.
inline HandleRecord* record_of(Handle handle) {
    HandleRecord* record = handle_buckets[handle_bucket(handle)].load(std::memory_order_acquire);
    while (record != nullptr && record->handle.load(std::memory_order_acquire) != handle) record = record->next;
    return record;
}

/// The record of a live handle, or nullptr: NULL, destroyed. One that was created unseen is adopted: its device is
/// taken to be the current one. Thread-safe, lock-free.
HandleRecord* find_handle(Handle handle);

/// The device of the context that was current when the handle was first seen. A handle can be made before there is a
/// context: then it is asked for again at the next products, and ever more rarely while the answer is none.
/// Thread-safe, lock-free.
Device device_of(HandleRecord& record);

/// To be called when the library's own function has created one, on the thread that did.
void note_handle_created(Handle handle);

/// To be called before the library's own function destroys it: after that, another may have its address.
void note_handle_destroyed(Handle handle);

/// It turned out not to be destroyed.
void note_handle_kept(Handle handle);

/// The math mode that the program has set. Asked of the library each time, since libraries that the shim does not see
/// can set it too; math_unknown: the library does not take this for a handle. Precondition: the lock is held.
std::int32_t program_math_mode(HandleRecord& record, const Library& library);

/// The program sets a math mode; returns the library's status. Precondition: the lock is held.
std::int32_t set_program_math_mode(HandleRecord& record, const Library& library, std::int32_t math_mode);

/// Makes `choice` (bits 0 to 2) the math mode, keeps the flags that it knows, calls, and puts back what was in force;
/// returns the call's status, or status_not_supported where the library refuses the mode. Precondition: the lock is
/// held.
template <class Call>
std::int32_t call_under_math_mode(HandleRecord& record, const Library& library, std::int32_t choice,
                                  const Call& call) {
    const bool is_nested = record.runs_under_other_mode;
    auto* const handle = record.handle.load(std::memory_order_relaxed);
    const std::int32_t program_mode = program_math_mode(record, library);
    std::int32_t outer_mode = program_mode;
    if (program_mode == math_unknown || library.set_math_mode == nullptr ||
        (is_nested && library.get_math_mode(handle, &outer_mode) != status_success) ||
        library.set_math_mode(handle, (program_mode & math_flags) | choice) != status_success)
        return status_not_supported;
    record.program_mode = program_mode;
    record.runs_under_other_mode = true;
    const std::int32_t status = call();
    record.runs_under_other_mode = is_nested;
    // A logging callback of the program's may have set another.
    library.set_math_mode(handle, is_nested ? outer_mode : record.program_mode);
    return status;
}

/// Holds a handle's lock for the length of a block; does nothing for nullptr. No exception passes through cuBLAS. A
/// thread that is cancelled meanwhile ends behind the block: it would take the lock, and the math mode, with it.
class HandleLockGuard {
  public:
    explicit HandleLockGuard(HandleRecord* record) : record_(record) {
        if (record_ == nullptr) return;
        pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state_);
        record_->lock->acquire();
    }
    ~HandleLockGuard() {
        if (record_ == nullptr) return;
        record_->lock->release();
        pthread_setcancelstate(cancel_state_, nullptr);
    }
    HandleLockGuard(const HandleLockGuard&) = delete;
    HandleLockGuard& operator=(const HandleLockGuard&) = delete;

  private:
    HandleRecord* record_;
    int cancel_state_ = 0;
};

}  // namespace fp32shim::cublas
