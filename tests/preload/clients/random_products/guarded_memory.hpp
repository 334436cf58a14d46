// Memory in which an access outside an operand is a segmentation fault.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

/// Space for one operand between two pages that cannot be accessed. Owns its pages.
class GuardedMemory {
  public:
    static constexpr std::size_t capacity =
        1U << 20;  ///< bytes, a multiple of the page size; includes a margin at both ends

    GuardedMemory()
        : begin_(static_cast<char*>(mmap(nullptr, capacity + 2 * guard, PROT_NONE,
                                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)) +
                 guard) {
        mprotect(begin_, capacity, PROT_READ | PROT_WRITE);
    }
    ~GuardedMemory() { munmap(begin_ - guard, capacity + 2 * guard); }
    GuardedMemory(const GuardedMemory&) = delete;
    GuardedMemory& operator=(const GuardedMemory&) = delete;

    /// Places `count` floats `margin` bytes before the guard page at the end, or `margin` bytes after the one at the
    /// start.
    float* place(std::size_t count, bool at_the_end, std::size_t margin) {
        count_ = count;
        data_ = reinterpret_cast<float*>(at_the_end ? begin_ + capacity - margin - count * sizeof(float)
                                                    : begin_ + margin);
        return data_;
    }
    float* data() const { return data_; }
    std::size_t count() const { return count_; }
    std::vector<std::uint32_t> bits() const {
        std::vector<std::uint32_t> copy(count_);
        if (count_ > 0) std::memcpy(copy.data(), data_, count_ * sizeof(float));
        return copy;
    }
    void set_bits(const std::vector<std::uint32_t>& bits) {
        if (count_ > 0) std::memcpy(data_, bits.data(), count_ * sizeof(float));
    }

  private:
    static constexpr std::size_t guard = 1U << 16;  // the largest page size that Linux uses by default
    char* begin_;
    float* data_ = nullptr;
    std::size_t count_ = 0;
};
