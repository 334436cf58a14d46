#include "record/write/memory.hpp"

#include <sys/mman.h>

#include "system/raw_syscall.hpp"
#include "system/thread_sanitizer.hpp"

namespace fp32shim::record {

namespace {

constexpr std::size_t chunk_size = 1 << 16;
constexpr std::size_t alignment = 16;

}  // namespace

void* map_private_pages(std::size_t size, PagesInChild in_child) {
    const long pages =
        system::raw::syscall6(SYS_mmap, 0, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages < 0) return nullptr;
    system::note_mapped();
    const int advice = in_child == PagesInChild::zeroed ? MADV_WIPEONFORK : MADV_DONTFORK;
    if (system::raw::syscall6(SYS_madvise, pages, size, advice) < 0) {
        unmap_pages(reinterpret_cast<void*>(pages), size);
        return nullptr;
    }
    return reinterpret_cast<void*>(pages);
}

void unmap_pages(void* pages, std::size_t size) {
    system::note_unmapping();
    system::raw::syscall6(SYS_munmap, pages, size);
}

void* PrivateArena::allocate(std::size_t size) {
    size = (size + alignment - 1) & ~(alignment - 1);
    for (;;) {
        Chunk* chunk = current_.load(std::memory_order_acquire);
        if (chunk != nullptr) {
            const std::size_t offset = chunk->used.fetch_add(size, std::memory_order_relaxed);
            if (offset + size <= chunk_size) return reinterpret_cast<char*>(chunk) + offset;
        }
        auto* fresh = static_cast<Chunk*>(map_private_pages(chunk_size, PagesInChild::none));
        if (fresh == nullptr) return nullptr;
        fresh->used.store(alignment, std::memory_order_relaxed);
        if (!current_.compare_exchange_strong(chunk, fresh, std::memory_order_acq_rel))
            unmap_pages(fresh, chunk_size);
    }
}

}  // namespace fp32shim::record
