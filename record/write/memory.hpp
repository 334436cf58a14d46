// Private memory for writing a recording: pages from the kernel. Never calls malloc, so that it may be used inside
// any program's allocator and in signal handlers.
#pragma once

#include <atomic>
#include <cstddef>

namespace fp32shim::record {

/// State of mapped pages in a forked child.
enum class PagesInChild : unsigned char {
    none,       ///< the child does not have the pages
    zeroed,     ///< the child has zeroed pages; needs Linux 4.14
    inherited,  ///< the child has the parent's pages
};

/// Returns zeroed pages; nullptr: the kernel has none. Leaves errno alone. Precondition: `in_child` is not
/// `inherited`.
void* map_private_pages(std::size_t size, PagesInChild in_child);
void unmap_pages(void* pages, std::size_t size);

/// Allocates memory that is never freed, and that forked children do not inherit. Thread-safe, lock-free.
class PrivateArena {
  public:
    /// Returns zeroed memory, aligned to 16 bytes; nullptr: the kernel has none. Precondition: size <= 1024.
    void* allocate(std::size_t size);
    /// Forgets all memory. For a forked child, where the pages are not mapped.
    void forget() { current_.store(nullptr, std::memory_order_relaxed); }

  private:
    struct Chunk {
        std::atomic<std::size_t> used;
    };
    std::atomic<Chunk*> current_{nullptr};
};

}  // namespace fp32shim::record
