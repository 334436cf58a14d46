// Private memory of the recording's writer: pages from the kernel, never malloc, so that it may be used inside any
// program's allocator and in signal handlers. What a forked child has no use for is not even mapped in it.
#pragma once

#include <atomic>
#include <cstddef>

namespace fp32shim::record {

/// What a forked child has in place of the pages.
enum class InChild : unsigned char {
    nothing,  ///< they are not mapped there
    zeros,    ///< they are there, and empty; needs Linux 4.14
};

/// Zeroed pages, or nullptr. Leaves errno alone.
void* map_private_pages(std::size_t size, InChild in_child);
void unmap_pages(void* pages, std::size_t size);

/// Memory that is never given back. Thread-safe, lock-free.
class PrivateArena {
  public:
    /// Zeroed, aligned to 16 bytes; nullptr: the kernel has none. Precondition: size <= 1024.
    void* allocate(std::size_t size);
    /// In a forked child, where the pages are gone.
    void forget() { current_.store(nullptr, std::memory_order_relaxed); }

  private:
    struct Chunk {
        std::atomic<std::size_t> used;
    };
    std::atomic<Chunk*> current_{nullptr};
};

}  // namespace fp32shim::record
