#include "shim/blas/emulate/scratch.hpp"

#include <pthread.h>
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <new>

#include "system/is_readable.hpp"
#include "system/reentrancy.hpp"
#include "system/signal_hold.hpp"

namespace fp32shim::blas {

/// A block of scratch memory. Invariant: only the call in `user` uses the other members.
struct ScratchBlock {
    /// An object in the stack frame of the call that uses the block; nullptr if the block is free.
    std::atomic<const void* const*> user{nullptr};
    void* memory = nullptr;
    std::size_t capacity = 0;
    HelperThreads* helpers = nullptr;  ///< the helper threads of the call; the object lies in `memory`
};

namespace {

constexpr std::size_t huge_page = std::size_t{2} << 20;
constexpr std::size_t small_unit = std::size_t{64} << 10;

/// The blocks of a thread, on a page that never moves. A signal handler may read them at any time.
struct ThreadScratchBlocks {
    // A thread needs several blocks: a signal handler that multiplies during a product takes another block, and so
    // does a product on another stack, if the program changes stacks in a signal handler.
    static constexpr int count = 8;
    ScratchBlock blocks[count];
};

// The TLS model is initial-exec, since a general dynamic access may allocate. Only a pointer is stored, since
// libraries opened by dlopen have little static TLS.
constinit thread_local ThreadScratchBlocks* thread_blocks __attribute__((tls_model("initial-exec"))) = nullptr;

void* map(std::size_t bytes) {
    void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return memory == MAP_FAILED ? nullptr : memory;
}

constexpr std::size_t round_up(std::size_t bytes, std::size_t unit) { return (bytes + unit - 1) / unit * unit; }

/// Maps memory, in huge pages if the system grants them. BLAS routines walk across columns, and one column of a large
/// operand fills a small page, so huge pages avoid many TLB misses. Precondition: `bytes` is a multiple of huge_page.
void* map_huge(std::size_t bytes) {
    auto* const mapped = static_cast<char*>(map(bytes + huge_page));
    if (mapped == nullptr) return nullptr;
    const auto address = reinterpret_cast<std::uintptr_t>(mapped);
    const std::size_t before = round_up(address, huge_page) - address;
    if (before != 0) munmap(mapped, before);
    if (before != huge_page) munmap(mapped + before + bytes, huge_page - before);
    madvise(mapped + before, bytes, MADV_HUGEPAGE);
    return mapped + before;
}

/// Ends the helper threads of a call that was left by a jump. Returns false if some threads are still working.
bool end_helper_threads(ScratchBlock& block) {
    if (block.helpers == nullptr) return true;
    if (!block.helpers->end(*block.helpers)) return false;
    block.helpers = nullptr;
    return true;
}

void release_at_thread_exit(void* value) {
    auto* const own = static_cast<ThreadScratchBlocks*>(value);
    thread_blocks = nullptr;  // another destructor of this thread may still multiply, and gets new blocks
    for (ScratchBlock& block : own->blocks)
        if (block.memory != nullptr && end_helper_threads(block)) munmap(block.memory, block.capacity);
    munmap(own, sizeof(ThreadScratchBlocks));
}

constinit std::atomic<std::int64_t> release_key{-1};

/// Returns the pthread key whose destructor frees a thread's blocks, or -1 if the process has no key left.
std::int64_t key_of_release() {
    std::int64_t key = release_key.load(std::memory_order_acquire);
    if (key >= 0) return key;
    pthread_key_t created;
    if (pthread_key_create(&created, release_at_thread_exit) != 0) return -1;
    if (release_key.compare_exchange_strong(key, created, std::memory_order_acq_rel)) return created;
    pthread_key_delete(created);
    return key;
}

/// Returns this thread's blocks, and makes them on the first call. Returns nullptr if there is no memory, or no
/// pthread key by which to free the blocks when the thread ends. They stay mapped if the key is not one of the first
/// 32, and the thread blocks a signal that has a handler (SignalHold::may_set_thread_value()).
ThreadScratchBlocks* own_blocks() {
    if (thread_blocks != nullptr) return thread_blocks;
    const system::SignalHold hold;  // a signal handler might make blocks too, or leave by siglongjmp
    if (thread_blocks != nullptr) return thread_blocks;
    const std::int64_t key = key_of_release();
    if (key < 0) return nullptr;
    void* const page = map(sizeof(ThreadScratchBlocks));
    if (page == nullptr) return nullptr;
    auto* const blocks = new (page) ThreadScratchBlocks;
    const auto known_key = static_cast<pthread_key_t>(key);
    if (hold.may_set_thread_value(known_key) && pthread_setspecific(known_key, blocks) != 0) {
        munmap(page, sizeof(ThreadScratchBlocks));
        return nullptr;
    }
    thread_blocks = blocks;
    return blocks;
}

/// Returns true if a call with the object `other` in its stack frame was surely left by a jump, as the call with the
/// object `user` has found. The stack addresses alone do not show it, since either call may be on the stack of a
/// fiber. Returns false for a call that was left if nothing has overwritten its stack frame so far.
bool was_left_by_jump(const void* const* other, const void* const* user) {
    const auto address = reinterpret_cast<std::uintptr_t>(other);
    return system::ReentrancyFlag::was_left_by_jump(address, reinterpret_cast<std::uintptr_t>(user)) &&
           (!system::is_readable(address) || *other != other);
}

/// Takes a block for a call. Returns nullptr if all blocks are in use.
ScratchBlock* take_block(ThreadScratchBlocks& own, const void* const* user) {
    const auto take_first = [&own, user](const auto& may_take) -> ScratchBlock* {
        for (ScratchBlock& block : own.blocks) {
            const void* const* before = block.user.load(std::memory_order_relaxed);
            // A signal handler may change to another fiber, which takes the block.
            if (!may_take(before) || !block.user.compare_exchange_strong(before, user, std::memory_order_relaxed))
                continue;
            std::atomic_signal_fence(std::memory_order_seq_cst);
            if (end_helper_threads(block)) return &block;
        }
        return nullptr;
    };
    // Two running calls cannot have the same stack address, so a block with the address `user` belongs to a call that
    // was left by a jump. Other addresses are weaker evidence of a jump, since a program may change to another stack
    // in a signal handler, and come back. So blocks with other addresses are examined only if no block is free.
    ScratchBlock* block = take_first([user](const auto* other) { return other == user; });
    if (block == nullptr) block = take_first([](const auto* other) { return other == nullptr; });
    if (block == nullptr)
        block = take_first([user](const auto* other) {
            return other == nullptr || (other != user && was_left_by_jump(other, user));
        });
    return block;
}

/// Replaces the block's memory by at least `bytes` bytes. Returns false if the kernel has no memory. Doubles the
/// size, up to `limit`, so that slowly growing products do not map memory each time; untouched pages cost nothing.
bool grow(ScratchBlock& block, std::size_t bytes, std::size_t limit) {
    const system::SignalHold hold;  // a signal handler may leave by siglongjmp
    if (block.memory != nullptr) munmap(block.memory, block.capacity);
    const std::size_t ahead = std::max(bytes, std::min(2 * block.capacity, limit));
    if (ahead < huge_page) {
        block.capacity = round_up(ahead, small_unit);
        block.memory = map(block.capacity);
    } else {
        block.capacity = round_up(ahead, huge_page);
        block.memory = map_huge(block.capacity);
    }
    if (block.memory == nullptr) {  // under a limit of the address space, there may still be room for `bytes`, which
                                    // the call needs
        block.capacity = bytes;
        block.memory = map(block.capacity);
    }
    if (block.memory == nullptr) block.capacity = 0;
    return block.memory != nullptr;
}

}  // namespace

ScratchMemory acquire_scratch(const void* const* user, std::size_t bytes, std::size_t limit) {
    ThreadScratchBlocks* const own = own_blocks();
    if (own == nullptr) return {};
    ScratchBlock* const block = take_block(*own, user);
    if (block == nullptr) {
        void* const memory = map(bytes);
        return memory == nullptr ? ScratchMemory{} : ScratchMemory{static_cast<float*>(memory), bytes};
    }
    if (block->capacity < bytes && !grow(*block, bytes, limit)) {
        block->user.store(nullptr, std::memory_order_relaxed);
        return {};
    }
    return {static_cast<float*>(block->memory), block->capacity, block};
}

void release_scratch(const ScratchMemory& scratch) {
    std::atomic_signal_fence(std::memory_order_seq_cst);
    if (scratch.block != nullptr)
        scratch.block->user.store(nullptr, std::memory_order_relaxed);
    else
        munmap(scratch.data, scratch.bytes);
}

void set_helper_threads(const ScratchMemory& scratch, HelperThreads* helpers) { scratch.block->helpers = helpers; }

void finish_helper_threads() {
    if (thread_blocks == nullptr) return;
    for (ScratchBlock& block : thread_blocks->blocks)
        if (block.helpers != nullptr) block.helpers->finish(*block.helpers);
}

}  // namespace fp32shim::blas
