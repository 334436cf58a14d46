// Device memory that the host cannot touch: each allocation is a memfd that is mapped twice, without access at the
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
    // Bytes of each device: STAND_IN_MEMORY, default 16 GiB.
    std::size_t total_bytes() const { return total_bytes_; }

    // The address, aligned to 256 bytes and more; 0: no memory left. Bytes are not zero, as on a device.
    std::uintptr_t allocate(int device, std::size_t bytes);
    // False: not the start of an allocation.
    bool release(std::uintptr_t address);
    void release_all(int device);
    std::size_t used(int device) const;

    // The alias of `bytes` bytes at an address, NULL unless all of them lie in one allocation.
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
    // Released ones by their mapped bytes, for the next of that size: to map is a quarter of a small product's time.
    std::multimap<std::size_t, std::pair<std::uintptr_t, Allocation>> released_;
};

}  // namespace stand_in
