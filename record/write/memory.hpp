// Gets private memory from the kernel, for the code that writes recordings. This code never calls malloc, because it
// may run inside a program's allocator and in signal handlers.
#pragma once

#include <atomic>
#include <cstddef>

namespace fp32shim::record {

/// The content of mapped pages in a forked child.
enum class PagesInChild : unsigned char {
    none,       ///< the child does not have the pages
    zeroed,     ///< the child has zeroed pages; needs Linux 4.14
    inherited,  ///< the child has the parent's pages
};

/// Returns zeroed pages, or nullptr if the kernel has no memory. Leaves errno alone. Precondition: `in_child` is not
/// `inherited`.
void* map_private_pages(std::size_t size, PagesInChild in_child);
void unmap_pages(void* pages, std::size_t size);

/// Allocates memory that is never freed, and that forked children do not inherit. Thread-safe, lock-free.
class PrivateArena {
  public:
    /// Returns zeroed memory that is aligned to 16 bytes, or nullptr if the kernel has no memory. Precondition: size
    /// <= 1024.
    void* allocate(std::size_t size);
    /// Forgets all memory. A forked child calls this, because the pages are not mapped in it.
    void forget() { current_.store(nullptr, std::memory_order_relaxed); }

  private:
    struct Chunk {
        std::atomic<std::size_t> used;
    };
    std::atomic<Chunk*> current_{nullptr};
};

}  // namespace fp32shim::record
