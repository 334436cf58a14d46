// Records of the program's handles, with their device and math mode. A cublasHandle_t can be passed as a
// cublasLtHandle_t, so handles of both kinds are kept together.
#pragma once

#include <pthread.h>

#include <atomic>
#include <cstdint>

#include "shim/cublas/library.hpp"
#include "shim/cublas/plan_key.hpp"
#include "system/hash.hpp"

namespace fp32shim::cublas {

/// The lock of a handle's math mode, which threads share. A thread holds the lock while it changes the mode for a
/// call, or depends on the mode. The lock is recursive, since a logging callback of cuBLAS may multiply. In a forked
/// child it is free.
class HandleLock {
  public:
    void acquire();
    void release();

  private:
    std::atomic<std::uint32_t> state_;  ///< 0: free; 1: held; 2: held, and another thread waits
    std::atomic<const void*> owner_;
    std::uint32_t depth_;
};

/// The record of a handle. It is complete before other threads can find it. It is never freed: a new handle at the
/// address of a destroyed handle gets the same record.
struct HandleRecord {
    std::atomic<Handle> handle;
    std::atomic<bool> destroyed;
    std::atomic<Device> device;            ///< the handle's device, which device_of() returns
    std::atomic<std::uint32_t> questions;  ///< how often device_of() was called while the device was unknown
    std::atomic<std::uint64_t> state_key;  ///< handle_key() of the device and of the math mode that the shim saw most
                                           ///< recently, or key_unknown
    HandleLock* lock;
    HandleRecord* next;

    // The following members are valid only while the lock is held.
    bool runs_under_other_mode;  ///< true while a product is running in a math mode other than the program's
    std::int32_t program_mode;   ///< the program's math mode while a product is running in another mode

    Handle address() const { return handle.load(std::memory_order_relaxed); }
};

constexpr std::int32_t math_unknown = -1;

constexpr unsigned handle_bucket_bits = 10;
extern constinit std::atomic<HandleRecord*> handle_buckets[std::size_t{1} << handle_bucket_bits];
inline std::size_t handle_bucket(Handle handle) {
    return system::table_index(reinterpret_cast<std::uintptr_t>(handle), handle_bucket_bits);
}

/// Returns the record of the handle at this address, or nullptr if there is none. The handle may have been destroyed.
/// Lock-free.
inline HandleRecord* known_record_of(Handle handle) {
    HandleRecord* record = handle_buckets[handle_bucket(handle)].load(std::memory_order_acquire);
    while (record != nullptr && record->handle.load(std::memory_order_acquire) != handle) record = record->next;
    return record;
}

/// Returns the record of a live handle. Returns nullptr for a null handle and for destroyed handles. If the shim did
/// not see the creation of the handle, makes a record with the current device. Thread-safe, lock-free.
HandleRecord* live_record_of(Handle handle);

/// Returns the device of the context that was current when the handle was first seen. If there was no context at that
/// time, asks for the device again at later products, less and less often. Thread-safe, lock-free.
Device device_of(HandleRecord& record);

/// Notes that the library has created a handle. Must be called on the thread that created it, since that thread's
/// current device is the device of the handle.
void on_handle_created(Handle handle);

/// Notes that a handle is about to be destroyed. Must be called before the library destroys the handle, since another
/// handle may get the address afterwards.
void on_handle_destroyed(Handle handle);

/// Notes that the library refused to destroy the handle, so that it counts as live again.
void on_destroy_failed(Handle handle);

/// Returns the math mode that the program has set, or math_unknown if the library does not accept the handle. Asks
/// the library each time, unless the shim has another mode in force: libraries whose calls the shim does not see can
/// set the mode, too. Precondition: the lock is held.
std::int32_t program_math_mode(HandleRecord& record, const Library& library);

/// Sets the math mode that the program requests. Returns the library's status. Precondition: the lock is held.
std::int32_t set_program_math_mode(HandleRecord& record, const Library& library, std::int32_t math_mode);

/// Makes a call in the math mode `choice`, combined with the bits `kept` of the program's mode, and then restores the
/// previous mode. Returns the call's status, or status_not_supported if the library refuses the mode. Precondition:
/// the handle's lock is held, and program_math_mode() has returned `program_mode` under this lock.
template <class Call>
std::int32_t call_under_math_mode(HandleRecord& record, const Library& library, std::int32_t program_mode,
                                  std::int32_t choice, const Call& call, std::int32_t kept = math_flags) {
    const bool is_nested = record.runs_under_other_mode;
    auto* const handle = record.address();
    std::int32_t outer_mode = program_mode;
    if (program_mode == math_unknown || library.set_math_mode == nullptr ||
        (is_nested && library.get_math_mode(handle, &outer_mode) != status_success) ||
        library.set_math_mode.call_keeping_errno(handle, (program_mode & kept) | choice) != status_success)
        return status_not_supported;
    record.program_mode = program_mode;
    record.runs_under_other_mode = true;
    const std::int32_t status = call();
    record.runs_under_other_mode = is_nested;
    // If a logging callback of the program has set another mode during the call, record.program_mode is now that
    // mode.
    library.set_math_mode.call_keeping_errno(handle, is_nested ? outer_mode : record.program_mode);
    return status;
}

/// Holds a handle's lock until release() or the end of the block. Does nothing if `record` is nullptr. The guard also
/// disables cancellation of the thread, which would leave the lock held and the mode changed. Exceptions could not do
/// that, since none passes through cuBLAS.
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
