#include "shim/memory/arena.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>

#include "system/raw_syscall.hpp"
#include "system/stderr_line.hpp"

namespace fp32shim {
namespace {

constexpr std::size_t chunk_size = 1 << 18;
constexpr std::size_t alignment = 64;

// A chunk begins with its own fill mark; a full chunk is left behind. The first chunk is part of the library, so
// that a program at the limit of its address space (RLIMIT_AS) runs under the shim too.
struct alignas(alignment) Chunk {
    std::atomic<std::size_t> used;
};
template <std::size_t size>
struct ChunkOf : Chunk {
    char contents[size - alignment];
};

constinit ChunkOf<(1 << 18)> first{};
constinit std::atomic<Chunk*> current{&first};

std::size_t size_of(const Chunk* chunk) { return chunk == &first ? sizeof first : chunk_size; }

// Maps by a system call of its own. To the thread sanitizer, the C library's mmap would be a write by the thread
// that maps, and a later read by another thread a race.
void* map_pages(std::size_t size) {
    const long pages = system::raw::syscall6(SYS_mmap, 0, static_cast<long>(size), PROT_READ | PROT_WRITE,
                                             MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages < 0) {
        system::stderr_line("out of memory (mmap failed); ending the process");
        _exit(127);
    }
    return reinterpret_cast<void*>(pages);
}

}  // namespace

void* arena_allocate(std::size_t size) {
    size = (size + alignment - 1) & ~(alignment - 1);
    if (size > chunk_size / 4) return map_pages(size);
    for (;;) {
        Chunk* chunk = current.load(std::memory_order_acquire);
        const std::size_t offset = alignment + chunk->used.fetch_add(size, std::memory_order_relaxed);
        if (offset + size <= size_of(chunk)) return reinterpret_cast<char*>(chunk) + offset;
        auto* fresh = static_cast<Chunk*>(map_pages(chunk_size));
        if (!current.compare_exchange_strong(chunk, fresh, std::memory_order_acq_rel))
            system::raw::syscall6(SYS_munmap, system::raw::address(fresh), chunk_size);
    }
}

std::string_view arena_copy(std::string_view text) {
    auto* copy = static_cast<char*>(arena_allocate(text.size() + 1));
    for (std::size_t i = 0; i < text.size(); ++i) copy[i] = text[i];
    return {copy, text.size()};
}

}  // namespace fp32shim
