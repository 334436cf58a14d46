// Memory for rounded copies and packed factors. Each thread has a few blocks, and keeps them for its next calls. Uses
// neither malloc nor a destructor, since a signal handler may multiply, and a routine may be left by longjmp. The
// block of a call that was left by longjmp serves a later call of the thread, at the latest when other calls have
// overwritten the stack frame of the call that was left.
#pragma once

#include <cstddef>

namespace fp32shim::blas {

/// Threads that work on a call in its scratch memory, beside the calling thread. If a jump leaves the call, these
/// threads go on.
struct HelperThreads {
    /// Ends the threads. Waits up to a second for them, and returns true if all have ended.
    bool (*end)(HelperThreads& self);
    /// Waits until the threads have finished what they have begun. The calling thread does the rest.
    void (*finish)(HelperThreads& self);
};

struct ScratchBlock;

/// Scratch memory that acquire_scratch() has given to a call.
struct ScratchMemory {
    float* data = nullptr;          ///< aligned to 64 bytes, with undefined contents; nullptr if there is no memory
    std::size_t bytes = 0;          ///< size of `data`, at least the requested size
    ScratchBlock* block = nullptr;  ///< the thread's block; nullptr if the memory was mapped for this call only
};

/// Takes memory for one call from the blocks that the thread keeps. A block that is too small is replaced by one of
/// twice its size or of `bytes`, whichever is larger, but of at most `limit` bytes. If a signal handler interrupts
/// the call and multiplies, the handler's product gets other memory. `user` is an object in the stack frame of the
/// call that contains its own address until the memory is released. It shows later whether a jump has left the call.
/// Precondition: 0 < bytes <= limit.
ScratchMemory acquire_scratch(const void* const* user, std::size_t bytes, std::size_t limit);

void release_scratch(const ScratchMemory& scratch);

/// Notes that `helpers` also use the memory, beside the calling thread. nullptr means that they no longer do.
/// Precondition: scratch.block != nullptr.
void set_helper_threads(const ScratchMemory& scratch, HelperThreads* helpers);

/// Lets the helper threads of the calling thread's products finish. This is called before a fork, which may be in a
/// signal handler: the child has no helper threads, and goes on with the product if it returns from the handler.
void finish_helper_threads();

/// The scratch memory of one product. The object lies on the stack of the product's call. The memory is taken when it
/// is first needed, and held until the product is complete.
struct ProductScratch {
    std::size_t limit = 0;
    std::size_t leading_bytes = 0;  ///< size of leading_memory(), a multiple of 64
    ScratchMemory scratch{};
    const void* user = nullptr;  ///< its own address, once `scratch` is asked for

    /// Returns memory of `bytes` bytes, or nullptr if there is none. Once it has granted a size, it never refuses
    /// that size. Precondition: 0 < bytes <= limit.
    float* acquire(std::size_t bytes) {
        if (scratch.data == nullptr) {
            user = &user;
            scratch = acquire_scratch(&user, leading_bytes + bytes, leading_bytes + limit);
        }
        return leading_bytes + bytes <= scratch.bytes ? scratch.data + leading_bytes / sizeof(float) : nullptr;
    }
    /// Returns the leading memory, which lies before the memory that acquire() returns. Precondition: acquire() has
    /// returned memory.
    void* leading_memory() const { return scratch.data; }
    void release() {
        if (scratch.data != nullptr) release_scratch(scratch);
    }
};

}  // namespace fp32shim::blas
