// The first part of handles, which cuBLAS and cublasLt share. So a cublasHandle_t also serves as a cublasLtHandle_t,
// as in PyTorch and the manual.
#pragma once

#include <atomic>
#include <cstdint>

#pragma GCC visibility push(default)
#include <cublasLt.h>
#pragma GCC visibility pop

namespace stand_in {

struct LibraryHandle {
    static constexpr std::uint32_t alive_mark = 0x53544e44;

    std::atomic<std::uint32_t> mark = 0;  // equals alive_mark from create to destroy
    int device = 0;
    int compute_capability = 0;
};

inline bool alive(const LibraryHandle* handle) {
    return handle != nullptr && handle->mark.load(std::memory_order_acquire) == LibraryHandle::alive_mark;
}

// Attaches a handle to the current context's device. If there is no context, makes device 0's primary context
// current, as the runtime does.
cublasStatus_t attach(LibraryHandle* handle);

}  // namespace stand_in
