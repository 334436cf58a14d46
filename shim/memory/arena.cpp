#include "shim/memory/arena.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>

#include "system/raw_syscall.hpp"
#include "system/stderr_line.hpp"
#include "system/thread_sanitizer.hpp"

namespace fp32shim {
namespace {

constexpr std::size_t chunk_size = 1 << 18;
constexpr std::size_t alignment = 64;

// A chunk begins with the number of its used bytes. When it is full, a new chunk is mapped. The first chunk is part
// of the library, so that the shim also works in a program that has used up its address space (RLIMIT_AS).
struct alignas(alignment) ArenaChunk {
    std::atomic<std::size_t> used;
};
template <std::size_t size>
struct SizedChunk : ArenaChunk {
    char contents[size - alignment];
};

constinit SizedChunk<(1 << 18)> first{};
constinit std::atomic<ArenaChunk*> current{&first};

std::size_t size_of(const ArenaChunk* chunk) { return chunk == &first ? sizeof first : chunk_size; }

// The memory for arena_allocate() when the kernel has none left. The reserve is part of the library, like the first
// chunk.
constinit SizedChunk<(1 << 18)> reserve{};

/// Returns memory from `chunk`, which has `capacity` bytes; nullptr if the chunk is full.
void* allocate_from_chunk(ArenaChunk* chunk, std::size_t size, std::size_t capacity) {
    const std::size_t offset = alignment + chunk->used.fetch_add(size, std::memory_order_relaxed);
    return offset + size <= capacity ? reinterpret_cast<char*>(chunk) + offset : nullptr;
}

// Maps pages by a raw system call. The thread sanitizer treats the C library's mmap as a write by the calling thread,
// and would report a race when another thread reads the memory.
void* map_pages(std::size_t size) {
    const long pages =
        system::raw::syscall6(SYS_mmap, 0, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    system::note_mapped();
    return pages < 0 ? nullptr : reinterpret_cast<void*>(pages);
}

std::size_t rounded_up(std::size_t size) { return (size + alignment - 1) & ~(alignment - 1); }

/// Returns memory from a chunk, or pages of its own for a large size; nullptr if the kernel has no memory left.
void* allocate_bytes(std::size_t size) {
    if (size > chunk_size / 4) return map_pages(size);
    for (;;) {
        ArenaChunk* chunk = current.load(std::memory_order_acquire);
        if (void* memory = allocate_from_chunk(chunk, size, size_of(chunk))) return memory;
        auto* fresh = static_cast<ArenaChunk*>(map_pages(chunk_size));
        if (fresh == nullptr) return nullptr;
        if (current.compare_exchange_strong(chunk, fresh, std::memory_order_acq_rel)) continue;
        system::note_unmapping();
        system::raw::syscall6(SYS_munmap, fresh, chunk_size);
    }
}

std::string_view copy_into(void* memory, std::string_view text) {
    auto* copy = static_cast<char*>(memory);
    for (std::size_t i = 0; i < text.size(); ++i) copy[i] = text[i];
    return {copy, text.size()};
}

}  // namespace

void* arena_try_allocate(std::size_t size) {
    void* memory = allocate_bytes(rounded_up(size));
    static constinit system::OncePerProcess said;
    if (memory == nullptr && said.is_first_call())
        system::stderr_line(
            "no memory is left for new call sites and names (RLIMIT_AS?). Products continue to run, but rules by "
            "call_site and scope, and the recording, cannot tell new places apart.");
    return memory;
}

void* arena_allocate(std::size_t size) {
    size = rounded_up(size);
    void* memory = allocate_bytes(size);
    if (memory == nullptr) memory = allocate_from_chunk(&reserve, size, sizeof reserve);
    if (memory != nullptr) return memory;
    system::stderr_line("out of memory (mmap failed); ending the process");
    _exit(127);
}

std::string_view arena_copy(std::string_view text) { return copy_into(arena_allocate(text.size() + 1), text); }

std::string_view arena_try_copy(std::string_view text) {
    void* memory = arena_try_allocate(text.size() + 1);
    return memory == nullptr ? std::string_view{} : copy_into(memory, text);
}

}  // namespace fp32shim
