// Memory for rounded copies and packed factors: a few blocks for each thread, kept for the thread's next calls. Uses
// neither malloc nor a destructor, since a signal handler may multiply, and a routine may leave by longjmp. A block
// of a call that was left that way serves a later call of the thread.
#pragma once

#include <cstddef>

namespace fp32shim::blas {

/// Threads that work on a call in its memory, beside the calling thread. If a jump leaves the call, they go on.
struct Helpers {
    /// Ends them, waits for that for a second at most, and returns true if none is left.
    bool (*end)(Helpers& self);
};

struct ScratchBlock;

struct Scratch {
    float* data = nullptr;          ///< aligned to 64 bytes, contents undefined; nullptr: no memory
    std::size_t bytes = 0;          ///< size of `data`, at least the requested size
    ScratchBlock* block = nullptr;  ///< the thread's block; nullptr: memory mapped for this call only
};

/// Takes memory for one call from the blocks that the thread keeps. A block that is too small is replaced by one of
/// twice its size or of `bytes`, whichever is more, but of at most `limit`. A second call before release_scratch (by
/// a signal handler that multiplies) gets other memory. `user` is an address in the stack frame of the call, by which
/// a call that was left by a jump is known. Precondition: 0 < bytes <= limit.
Scratch acquire_scratch(const void* user, std::size_t bytes, std::size_t limit);

void release_scratch(const Scratch& scratch);

/// Notes who uses the memory beside the calling thread; nullptr: nobody. Precondition: scratch.block != nullptr.
void set_helpers(const Scratch& scratch, Helpers* helpers);

/// Scratch memory of one product, on the stack of its call. Taken when first needed, and held until the product is
/// complete.
struct HeldScratch {
    std::size_t limit = 0;
    std::size_t bytes_before = 0;  ///< further memory before the memory that is asked for; a multiple of 64
    Scratch scratch{};

    /// Returns memory of `bytes`, or nullptr if there is none. Precondition: 0 < bytes <= limit. Once a size was
    /// granted, the same size is never refused.
    float* memory_of(std::size_t bytes) {
        if (scratch.data == nullptr) scratch = acquire_scratch(this, bytes_before + bytes, bytes_before + limit);
        return bytes_before + bytes <= scratch.bytes ? scratch.data + bytes_before / sizeof(float) : nullptr;
    }
    /// Returns the further memory. Precondition: memory_of() has returned memory.
    void* memory_before() const { return scratch.data; }
    void release() {
        if (scratch.data != nullptr) release_scratch(scratch);
    }
};

}  // namespace fp32shim::blas
