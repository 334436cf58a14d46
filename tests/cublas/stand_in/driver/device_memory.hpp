// Device memory that the host cannot access. Each allocation is a memfd that is mapped twice: without access at the
// address that the program gets, and readable and writable at an alias that only kernels and copies use.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <shared_mutex>
#include <utility>

namespace stand_in {

class DeviceMemory {
  public:
    // Returns the memory size of each device in bytes: STAND_IN_MEMORY, default 16 GiB.
    std::size_t total_bytes() const { return total_bytes_; }

    // Returns an address, aligned to at least 256 bytes; 0: no memory left. As on a device, the bytes are not zero.
    std::uintptr_t allocate(int device, std::size_t bytes);
    // Releases an allocation. Returns false if no allocation starts at `address`.
    bool release(std::uintptr_t address);
    void release_all(int device);
    std::size_t used(int device) const;

    // Returns the alias of `bytes` bytes at an address; NULL unless all of them lie in one allocation.
    std::byte* view(std::uintptr_t address, std::size_t bytes) const;

  private:
    struct Allocation {
        int device;
        std::size_t bytes;
        std::size_t mapped_bytes;
        std::byte* alias;
    };
    static void unmap(std::uintptr_t address, const Allocation& allocation);
    static Allocation map(std::uintptr_t& address, std::size_t mapped_bytes);

    static std::size_t bytes_by_environment();
    const std::size_t total_bytes_ = bytes_by_environment();
    mutable std::shared_mutex mutex_;
    std::map<std::uintptr_t, Allocation> allocations_;
    // Released allocations by their size, for reuse: mapping takes a quarter of a small product's time.
    std::multimap<std::size_t, std::pair<std::uintptr_t, Allocation>> released_;
};

}  // namespace stand_in
