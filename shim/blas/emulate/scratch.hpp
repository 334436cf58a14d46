// Memory for rounded copies and packed factors: a few blocks for each thread, kept for the thread's next calls. Uses
// neither malloc nor a destructor, since a signal handler may multiply, and a routine may leave by longjmp. A block
// of a call that was left that way serves a later call of the thread.
#pragma once

#include <cstddef>

namespace fp32shim::blas {

/// Threads that work on a call in its scratch memory, beside the calling thread. If a jump leaves the call, they go
/// on.
struct HelperThreads {
    /// Ends the threads. Waits for them, but for a second at most, and returns true if none is left.
    bool (*end)(HelperThreads& self);
};

struct ScratchBlock;

/// Scratch memory that acquire_scratch() has given to a call.
struct ScratchMemory {
    float* data = nullptr;          ///< aligned to 64 bytes, contents undefined; nullptr: no memory
    std::size_t bytes = 0;          ///< size of `data`, at least the requested size
    ScratchBlock* block = nullptr;  ///< the thread's block; nullptr: memory mapped for this call only
};

/// Takes memory for one call from the blocks that the thread keeps. A block that is too small is replaced by one of
/// twice its size or of `bytes`, whichever is more, but of at most `limit`. A second call before release_scratch (by
/// a signal handler that multiplies) gets other memory. `user` is an address in the stack frame of the call, by which
/// a call that was left by a jump is known. Precondition: 0 < bytes <= limit.
ScratchMemory acquire_scratch(const void* user, std::size_t bytes, std::size_t limit);

void release_scratch(const ScratchMemory& scratch);

/// Notes the threads that use the memory beside the calling thread; nullptr: there are none. Precondition:
/// scratch.block != nullptr.
void set_helper_threads(const ScratchMemory& scratch, HelperThreads* helpers);

/// Scratch memory of one product, on the stack of its call. Taken when first needed, and held until the product is
/// complete.
struct ProductScratch {
    std::size_t limit = 0;
    std::size_t leading_bytes = 0;  ///< size of leading_memory(), a multiple of 64
    ScratchMemory scratch{};

    /// Returns memory of `bytes`, or nullptr if there is none. Once it has granted a size, it never refuses that
    /// size. Precondition: 0 < bytes <= limit.
    float* acquire(std::size_t bytes) {
        if (scratch.data == nullptr) scratch = acquire_scratch(this, leading_bytes + bytes, leading_bytes + limit);
        return leading_bytes + bytes <= scratch.bytes ? scratch.data + leading_bytes / sizeof(float) : nullptr;
    }
    /// Returns the memory before that of acquire(). Precondition: acquire() has returned memory.
    void* leading_memory() const { return scratch.data; }
    void release() {
        if (scratch.data != nullptr) release_scratch(scratch);
    }
};

}  // namespace fp32shim::blas
