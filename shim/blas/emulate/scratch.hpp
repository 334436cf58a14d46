// Memory for rounded copies: one block per thread, kept for the thread's next call. Uses neither malloc nor a
// destructor, since a signal handler may multiply, and a routine may leave by longjmp. A thread that was left that
// way does not give its block back. It keeps working: each of its later calls maps memory of its own.
#pragma once

#include <cstddef>

namespace fp32shim::blas {

struct Scratch {
    float* data = nullptr;  ///< aligned to 64 bytes, contents undefined; nullptr: no memory
    std::size_t bytes = 0;  ///< size of `data`, at least the requested size
    bool kept = false;      ///< true: the thread's own block; false: memory mapped for this call only
};

/// Takes memory for one call from the block that the thread keeps. A block that is too small is replaced by one of
/// twice its size or of `bytes`, whichever is more, but of at most `limit`. A second call before release_scratch (by
/// a signal handler that multiplies) gets other memory. Precondition: 0 < bytes <= limit.
Scratch acquire_scratch(std::size_t bytes, std::size_t limit);

void release_scratch(const Scratch& scratch);

/// Scratch memory of one product. Taken when first needed, and held until the product is complete.
struct HeldScratch {
    std::size_t limit = 0;
    Scratch scratch{};

    /// Returns memory of `bytes`, or nullptr if there is none. Precondition: 0 < bytes <= limit. Once a size was
    /// granted, the same size is never refused.
    float* memory_of(std::size_t bytes) {
        if (scratch.data == nullptr) scratch = acquire_scratch(bytes, limit);
        return bytes <= scratch.bytes ? scratch.data : nullptr;
    }
    void release() {
        if (scratch.data != nullptr) release_scratch(scratch);
    }
};

}  // namespace fp32shim::blas
