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

/// Never freed; a destroyed handle's record is taken over when another handle gets its address.
struct HandleRecord {
    std::atomic<Handle> handle;
    std::atomic<bool> destroyed;
    std::int32_t device_index;
    std::int32_t compute_capability;
    std::atomic<std::int32_t> math_mode;  ///< as the program set it
    HandleLock* lock;
    HandleRecord* next;
};

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
