#include "shim/blas/emulate/scratch.hpp"

#include <pthread.h>
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <new>

namespace fp32shim::blas {
namespace {

constexpr std::size_t huge_page = std::size_t{2} << 20;
constexpr std::size_t small_unit = std::size_t{64} << 10;

/// A thread's scratch memory, kept between calls. The struct is on a page of its own and never moves, so a signal
/// handler may check `taken` at any time. Invariant: only the code that set `taken` to true uses the other members.
struct ThreadBlock {
    std::atomic<bool> taken{false};
    void* memory = nullptr;
    std::size_t capacity = 0;
};

// The TLS model is initial-exec, since a general dynamic access may allocate. Only a pointer is stored, since
// libraries opened by dlopen have little static TLS.
constinit thread_local ThreadBlock* thread_block __attribute__((tls_model("initial-exec"))) = nullptr;

void* map(std::size_t bytes) {
    void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return memory == MAP_FAILED ? nullptr : memory;
}

constexpr std::size_t round_up(std::size_t bytes, std::size_t unit) { return (bytes + unit - 1) / unit * unit; }

/// Maps memory, in huge pages if the system grants them. Routines walk across columns, and one column of a large
/// operand fills a small page. Precondition: `bytes` is a multiple of huge_page.
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

void release_at_thread_exit(void* value) {
    auto* const block = static_cast<ThreadBlock*>(value);
    thread_block = nullptr;  // another destructor of this thread may still multiply, and gets a new block
    if (block->memory != nullptr) munmap(block->memory, block->capacity);
    munmap(block, sizeof(ThreadBlock));
}

constinit std::atomic<std::int64_t> release_key{-1};

/// Returns the pthread key whose destructor frees a thread's block, or -1 if the process has no key left.
std::int64_t key_of_release() {
    std::int64_t key = release_key.load(std::memory_order_acquire);
    if (key >= 0) return key;
    pthread_key_t created;
    if (pthread_key_create(&created, release_at_thread_exit) != 0) return -1;
    if (release_key.compare_exchange_strong(key, created, std::memory_order_acq_rel)) return created;
    pthread_key_delete(created);
    return key;
}

/// Returns this thread's block. Makes it on first use. Returns nullptr if there is no memory, or no pthread key by
/// which to free it when the thread ends.
ThreadBlock* own_block() {
    if (thread_block != nullptr) return thread_block;
    const std::int64_t key = key_of_release();
    if (key < 0) return nullptr;
    void* const page = map(sizeof(ThreadBlock));
    if (page == nullptr) return nullptr;
    auto* const block = new (page) ThreadBlock;
    if (pthread_setspecific(static_cast<pthread_key_t>(key), block) != 0) {
        munmap(page, sizeof(ThreadBlock));
        return nullptr;
    }
    ThreadBlock* first = nullptr;
    if (!__atomic_compare_exchange_n(&thread_block, &first, block, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
        // A signal handler multiplied in the meantime and made a block, which is used.
        pthread_setspecific(static_cast<pthread_key_t>(key), first);
        munmap(page, sizeof(ThreadBlock));
        return first;
    }
    return block;
}

/// Replaces the block's memory by at least `bytes`. Returns false if the kernel has none. Doubles the size, up to
/// `limit`, so that slowly growing products do not map memory each time; untouched pages cost nothing.
bool grow(ThreadBlock& block, std::size_t bytes, std::size_t limit) {
    if (block.memory != nullptr) munmap(block.memory, block.capacity);
    const std::size_t ahead = std::max(bytes, std::min(2 * block.capacity, limit));
    if (ahead < huge_page) {
        block.capacity = round_up(ahead, small_unit);
        block.memory = map(block.capacity);
    } else {
        block.capacity = round_up(ahead, huge_page);
        block.memory = map_huge(block.capacity);
    }
    if (block.memory == nullptr) {  // a limit of the address space may still leave room for the current need
        block.capacity = bytes;
        block.memory = map(block.capacity);
    }
    if (block.memory == nullptr) block.capacity = 0;
    return block.memory != nullptr;
}

}  // namespace

Scratch acquire_scratch(std::size_t bytes, std::size_t limit) {
    ThreadBlock* const block = own_block();
    if (block == nullptr) return {};
    if (block->taken.exchange(true, std::memory_order_acquire)) {
        void* const memory = map(bytes);
        return memory == nullptr ? Scratch{} : Scratch{static_cast<float*>(memory), bytes, false};
    }
    if (block->capacity < bytes && !grow(*block, bytes, limit)) {
        block->taken.store(false, std::memory_order_release);
        return {};
    }
    return {static_cast<float*>(block->memory), block->capacity, true};
}

void release_scratch(const Scratch& scratch) {
    if (scratch.kept)
        thread_block->taken.store(false, std::memory_order_release);
    else
        munmap(scratch.data, scratch.bytes);
}

}  // namespace fp32shim::blas
