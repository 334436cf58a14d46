// The program's handles: device and math mode. A cublasHandle_t can be passed where a cublasLtHandle_t is
// expected, so both are kept together.
#pragma once

#include <pthread.h>

#include <atomic>
#include <cstdint>

#include "shim/cublas/library.hpp"
#include "shim/cublas/plan_key.hpp"
#include "system/hash.hpp"

namespace fp32shim::cublas {

/// The lock of a handle's math mode, which is shared state. Held by a thread that changes the mode for the length of
/// a call, or depends on it. Recursive, since a logging callback of cuBLAS may multiply. Free in a forked child.
class HandleLock {
  public:
    void acquire();
    void release();

  private:
    std::atomic<std::uint32_t> state_;  ///< 0: free, 1: held, 2: held, and another thread waits
    std::atomic<const void*> owner_;
    std::uint32_t depth_;
};

/// The record of a handle, complete before other threads can find it. Never freed: a new handle at the address of a
/// destroyed handle takes over the record of the destroyed one.
struct HandleRecord {
    std::atomic<Handle> handle;
    std::atomic<bool> destroyed;
    std::atomic<Device> device;            ///< device of the handle, see device_of()
    std::atomic<std::uint32_t> questions;  ///< number of device_of() calls while the device was unknown
    std::atomic<std::uint64_t> key;        ///< handle_key() of device and math mode, as last seen, or key_unknown
    HandleLock* lock;
    HandleRecord* next;

    // While the lock is held:
    bool runs_under_other_mode;  ///< a product runs with another math mode than the program's
    std::int32_t program_mode;   ///< math mode of the program, while a product runs under another
};

constexpr std::int32_t math_unknown = -1;

constexpr unsigned handle_bucket_bits = 10;
extern constinit std::atomic<HandleRecord*> handle_buckets[std::size_t{1} << handle_bucket_bits];
inline std::size_t handle_bucket(Handle handle) {
    return system::table_index(reinterpret_cast<std::uintptr_t>(handle), handle_bucket_bits);
}

/// Returns the record of the handle at this address, or nullptr. The handle may be destroyed. Lock-free.
inline HandleRecord* record_of(Handle handle) {
    HandleRecord* record = handle_buckets[handle_bucket(handle)].load(std::memory_order_acquire);
    while (record != nullptr && record->handle.load(std::memory_order_acquire) != handle) record = record->next;
    return record;
}

/// Returns the record of a live handle; nullptr for NULL or a destroyed handle. Makes a record for a handle whose
/// creation the shim did not see, with the current device as the handle's. Thread-safe, lock-free.
HandleRecord* find_handle(Handle handle);

/// Returns the device of the context that was current when the handle was first seen. A handle can be made before
/// there is a context: then the device is asked for again at the next products, and ever more rarely. Thread-safe,
/// lock-free.
Device device_of(HandleRecord& record);

/// Notes a handle that the library has created. To be called on the thread that created it.
void on_handle_created(Handle handle);

/// Notes that a handle is about to be destroyed. To be called before the library's own function, since another
/// handle may have the address afterwards.
void on_handle_destroyed(Handle handle);

/// Notes that the library has not destroyed the handle after all.
void on_destroy_failed(Handle handle);

/// Returns the math mode that the program has set, or math_unknown if the library does not take this for a handle.
/// Asks the library each time, since libraries that the shim does not see can set it too. Precondition: the lock
/// is held.
std::int32_t program_math_mode(HandleRecord& record, const Library& library);

/// Sets the math mode that the program asks for. Returns the library's status. Precondition: the lock is held.
std::int32_t set_program_math_mode(HandleRecord& record, const Library& library, std::int32_t math_mode);

/// Makes a call under the math mode `choice` (bits 0 to 2) with the program's other mode bits, and then puts back the
/// mode that was in force. Returns the call's status, or status_not_supported if the library refuses the mode.
/// Precondition: the handle's lock is held, and program_math_mode() has returned `program_mode` under this lock.
template <class Call>
std::int32_t call_under_math_mode(HandleRecord& record, const Library& library, std::int32_t program_mode,
                                  std::int32_t choice, const Call& call) {
    const bool is_nested = record.runs_under_other_mode;
    auto* const handle = record.handle.load(std::memory_order_relaxed);
    std::int32_t outer_mode = program_mode;
    if (program_mode == math_unknown || library.set_math_mode == nullptr ||
        (is_nested && library.get_math_mode(handle, &outer_mode) != status_success) ||
        library.set_math_mode(handle, (program_mode & math_flags) | choice) != status_success)
        return status_not_supported;
    record.program_mode = program_mode;
    record.runs_under_other_mode = true;
    const std::int32_t status = call();
    record.runs_under_other_mode = is_nested;
    // A logging callback of the program's may have set another mode.
    library.set_math_mode(handle, is_nested ? outer_mode : record.program_mode);
    return status;
}

/// Holds a handle's lock until release(), or to the end of a block; does nothing for nullptr. No exception passes
/// through cuBLAS. Holds off cancellation of the thread too, which would leave the lock held and the mode changed.
class HandleLockGuard {
  public:
    explicit HandleLockGuard(HandleRecord* record) : record_(record) {
        if (record_ == nullptr) return;
        pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state_);
        record_->lock->acquire();
    }
    ~HandleLockGuard() { release(); }
    HandleLockGuard(const HandleLockGuard&) = delete;
    HandleLockGuard& operator=(const HandleLockGuard&) = delete;

    void release() {
        if (record_ == nullptr) return;
        record_->lock->release();
        record_ = nullptr;
        pthread_setcancelstate(cancel_state_, nullptr);
    }

  private:
    HandleRecord* record_;
    int cancel_state_ = 0;
};

}  // namespace fp32shim::cublas
