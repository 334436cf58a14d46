// What the shim knows of the program's handles: device, math mode. A cublasHandle_t can be passed where a
// cublasLtHandle_t is expected, so both are kept together.
#pragma once

#include <atomic>
#include <cstdint>

#include "shim/cublas/library.hpp"

namespace fp32shim::cublas {

/// A handle's math mode is shared state: whoever changes it for the length of a call, or depends on it, holds this.
/// The same thread may take it again (a logging callback of cuBLAS's may ask for the mode). Free in a forked child.
class HandleLock {
  public:
    void acquire();
    void release();
    bool is_held_by_this_thread() const;

  private:
    std::atomic<std::uint32_t> state_;  ///< 0: free, 1: held, 2: held, and somebody waits
    std::atomic<const void*> owner_;
    std::uint32_t depth_;
};

/// Part of a key that is not known: whatever it is joined to matches nothing that is kept.
constexpr std::uint64_t key_unknown = ~std::uint64_t{0};

/// What a plan depends on: the settings, the handle, and the call's own values.
inline std::uint64_t join_key(std::uint64_t settings_count, std::uint64_t of_handle, std::uint64_t of_call) {
    return of_call == key_unknown || of_handle == key_unknown ? key_unknown : settings_count | of_handle | of_call;
}

/// Never freed; a destroyed handle's record is taken over when another handle gets its address.
struct HandleRecord {
    std::atomic<Handle> handle;
    std::atomic<bool> destroyed;
    std::int32_t device_index;
    std::int32_t compute_capability;
    std::atomic<std::int32_t> math_mode;  ///< as the program set it
    std::atomic<std::uint64_t> key;       ///< of compute capability and math mode, or key_unknown: bits 16 to 34
    HandleLock* lock;
    HandleRecord* next;
};

constexpr std::size_t handle_bucket_count = 1024;
extern constinit std::atomic<HandleRecord*> handle_buckets[handle_bucket_count];
inline std::size_t handle_bucket(Handle handle) {
    return (reinterpret_cast<std::uintptr_t>(handle) * 0x9e3779b97f4a7c15U) >> 54;
}

/// The record of this address, if there is one; the handle may be destroyed.
inline HandleRecord* record_of(Handle handle) {
    HandleRecord* record = handle_buckets[handle_bucket(handle)].load(std::memory_order_acquire);
    while (record != nullptr && record->handle.load(std::memory_order_acquire) != handle) record = record->next;
    return record;
}

/// The program has set the handle's math mode.
void note_math_mode(HandleRecord& record, std::int32_t math_mode);

/// The record of a live handle, or nullptr: NULL, destroyed. One that was created unseen is adopted: its device is
/// taken to be the current one, its math mode is asked of the library.
/// Thread-safe, lock-free; calls nothing for a handle that is known.
HandleRecord* find_handle(Handle handle, const Library& library);

/// To be called when the library's own function has created one, on the thread that did.
void note_handle_created(Handle handle);

/// To be called before the library's own function destroys it: after that, another may have its address.
void note_handle_destroyed(Handle handle);

/// It turned out not to be destroyed.
void note_handle_kept(Handle handle);

/// Holds a handle's lock for the length of a block; does nothing for nullptr. No exception passes through cuBLAS.
class HandleLockGuard {
  public:
    explicit HandleLockGuard(HandleRecord* record) : record_(record) {
        if (record_ != nullptr) record_->lock->acquire();
    }
    ~HandleLockGuard() {
        if (record_ != nullptr) record_->lock->release();
    }
    HandleLockGuard(const HandleLockGuard&) = delete;
    HandleLockGuard& operator=(const HandleLockGuard&) = delete;

  private:
    HandleRecord* record_;
};

}  // namespace fp32shim::cublas
