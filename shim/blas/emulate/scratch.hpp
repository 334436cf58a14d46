// Memory for rounded copies: one block per thread, kept for the thread's next call. Uses neither malloc nor a
// destructor: a signal handler may multiply, and a routine may leave by longjmp. A thread that left so, without
// giving its block back, keeps working: each later call of it maps memory for itself.
#pragma once

#include <cstddef>

namespace fp32shim::blas {

struct Scratch {
    float* data = nullptr;  ///< aligned to 64 bytes, contents undefined; nullptr: there is no memory
    std::size_t bytes = 0;  ///< size of `data`, at least what was asked for
    bool kept = false;      ///< true: the thread's own block; false: a mapping for this call alone
};

/// Takes memory for one call: the block that the thread keeps. A block that is too small is replaced by one of twice
/// its size, or of `bytes` if that is more, but at most `limit`. A second call before release_scratch (a signal
/// handler that multiplies) gets other memory. Precondition: 0 < bytes <= limit.
Scratch acquire_scratch(std::size_t bytes, std::size_t limit);

void release_scratch(const Scratch& scratch);

/// Scratch memory of one product, taken when it is first needed and kept until the product is complete.
struct HeldScratch {
    std::size_t limit = 0;
    Scratch scratch{};

    /// Returns memory for `bytes`; nullptr if there is none. Precondition: 0 < bytes <= limit. A caller that was
    /// given memory once is never refused the same amount.
    float* memory_of(std::size_t bytes) {
        if (scratch.data == nullptr) scratch = acquire_scratch(bytes, limit);
        return bytes <= scratch.bytes ? scratch.data : nullptr;
    }
    void release() {
        if (scratch.data != nullptr) release_scratch(scratch);
    }
};

}  // namespace fp32shim::blas
