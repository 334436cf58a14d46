// The head that handles of cuBLAS and cublasLt share: a cublasHandle_t is also accepted as a cublasLtHandle_t, as
// PyTorch and the manual use it.
#pragma once

#include <atomic>
#include <cstdint>

#pragma GCC visibility push(default)
#include <cublasLt.h>
#pragma GCC visibility pop

namespace stand_in {

struct LibraryHandle {
    static constexpr std::uint32_t alive_mark = 0x53544e44;

    std::atomic<std::uint32_t> mark = 0;  // alive_mark between create and destroy
    int device = 0;
    int compute_capability = 0;
};

inline bool alive(const LibraryHandle* handle) {
    return handle != nullptr && handle->mark.load(std::memory_order_acquire) == LibraryHandle::alive_mark;
}

// Takes the current context's device; without a context device 0's primary context becomes current, as in the
// runtime.
cublasStatus_t attach(LibraryHandle* handle);

}  // namespace stand_in
