#include "driver/device_memory.hpp"

#include <linux/memfd.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <tuple>

namespace stand_in {

constexpr std::size_t most_kept_bytes = std::size_t{1} << 26;
constexpr std::size_t most_filled_bytes = std::size_t{1} << 24;

std::size_t DeviceMemory::bytes_by_environment() {
    const char* const text = std::getenv("STAND_IN_MEMORY");
    return text == nullptr ? std::size_t{16} << 30 : std::strtoull(text, nullptr, 10);
}

DeviceMemory::Allocation DeviceMemory::map(std::uintptr_t& address, std::size_t mapped_bytes) {
    // A raw system call, since the C library for which the bundle is built has no memfd_create yet.
    const int file = static_cast<int>(syscall(SYS_memfd_create, "fp32shim stand-in device memory", MFD_CLOEXEC));
    if (file < 0) return {};
    void* hidden = MAP_FAILED;
    void* alias = MAP_FAILED;
    if (ftruncate(file, static_cast<off_t>(mapped_bytes)) == 0) {
        hidden = mmap(nullptr, mapped_bytes, PROT_NONE, MAP_SHARED, file, 0);
        alias = mmap(nullptr, mapped_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    }
    close(file);
    if (hidden == MAP_FAILED || alias == MAP_FAILED) {
        if (hidden != MAP_FAILED) munmap(hidden, mapped_bytes);
        if (alias != MAP_FAILED) munmap(alias, mapped_bytes);
        return {};
    }
    address = reinterpret_cast<std::uintptr_t>(hidden);
    return {0, 0, mapped_bytes, static_cast<std::byte*>(alias)};
}

std::uintptr_t DeviceMemory::allocate(int device, std::size_t bytes) {
    if (bytes > total_bytes_ - std::min(total_bytes_, used(device))) return 0;
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    const std::size_t mapped_bytes = (bytes + page - 1) / page * page;
    std::uintptr_t address = 0;
    Allocation allocation{};
    std::unique_lock lock(mutex_);
    if (auto kept = released_.extract(mapped_bytes)) {
        std::tie(address, allocation) = kept.mapped();
    } else {
        allocation = map(address, mapped_bytes);
    }
    if (allocation.alias == nullptr) return 0;
    // These bytes are NaN in every format, which exposes programs that rely on zeroed memory. What is larger is a
    // workspace, of which the stand-in touches nothing: filling one of 256 MB takes as long as all products of a
    // gpu-check.
    std::memset(allocation.alias, 0xff, std::min(bytes, most_filled_bytes));
    allocation.device = device;
    allocation.bytes = bytes;
    allocations_[address] = allocation;
    return address;
}

void DeviceMemory::unmap(std::uintptr_t address, const Allocation& allocation) {
    munmap(reinterpret_cast<void*>(address), allocation.mapped_bytes);
    munmap(allocation.alias, allocation.mapped_bytes);
}

bool DeviceMemory::release(std::uintptr_t address) {
    std::unique_lock lock(mutex_);
    const auto found = allocations_.find(address);
    if (found == allocations_.end()) return false;
    if (found->second.mapped_bytes > most_kept_bytes) {
        unmap(found->first, found->second);
    } else {
        released_.emplace(found->second.mapped_bytes, *found);
    }
    allocations_.erase(found);
    return true;
}

void DeviceMemory::release_all(int device) {
    std::unique_lock lock(mutex_);
    std::erase_if(allocations_, [device](const auto& entry) {
        if (entry.second.device != device) return false;
        unmap(entry.first, entry.second);
        return true;
    });
}

std::size_t DeviceMemory::used(int device) const {
    std::shared_lock lock(mutex_);
    std::size_t bytes = 0;
    for (const auto& [address, allocation] : allocations_)
        if (allocation.device == device) bytes += allocation.mapped_bytes;
    return bytes;
}

std::byte* DeviceMemory::view(std::uintptr_t address, std::size_t bytes) const {
    std::shared_lock lock(mutex_);
    auto next = allocations_.upper_bound(address);
    if (next == allocations_.begin()) return nullptr;
    const auto& [start, allocation] = *std::prev(next);
    const std::size_t offset = address - start;
    if (offset > allocation.bytes || bytes > allocation.bytes - offset) return nullptr;
    return allocation.alias + offset;
}

}  // namespace stand_in
