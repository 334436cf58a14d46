// Memory that is mapped only while one function runs. It holds buffers that could be too large for the stack of the
// program's thread.
#pragma once

#include <sys/mman.h>
#include <sys/syscall.h>

#include <cstddef>
#include <span>

#include "system/raw_syscall.hpp"
#include "system/thread_sanitizer.hpp"

namespace fp32shim {

/// Memory that the constructor maps and the destructor unmaps. Leaves errno unchanged. Async-signal-safe.
class MappedMemory {
  public:
    explicit MappedMemory(std::size_t size)
        : begin_(
              system::raw::syscall6(SYS_mmap, 0, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)),
          size_(begin_ > 0 ? size : 0) {
        system::note_mapped();
    }
    ~MappedMemory() {
        if (size_ == 0) return;
        system::note_unmapping();
        system::raw::syscall6(SYS_munmap, begin_, size_);
    }
    MappedMemory(const MappedMemory&) = delete;
    MappedMemory& operator=(const MappedMemory&) = delete;

    /// Leaves the memory mapped for good, because other code may still read it or write to it.
    void keep_mapped() { size_ = 0; }

    /// Returns the memory, which is zeroed at first, or an empty span if the kernel could not map it.
    std::span<char> bytes() const { return {reinterpret_cast<char*>(begin_), size_}; }

  private:
    long begin_;
    std::size_t size_;
};

}  // namespace fp32shim
