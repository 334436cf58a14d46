// An array of floats that ends at the end of readable memory, and begins soon after the start of it.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <utility>
#include <vector>

namespace fp32shim::tests {

/// Floats in guarded memory: an access after the last element is a segmentation fault.
class GuardedFloats {
  public:
    GuardedFloats() = default;
    explicit GuardedFloats(const std::vector<float>& values) : size_(values.size()) {
        if (values.empty()) return;
        const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
        const std::size_t bytes = size_ * sizeof(float);
        const std::size_t readable = (bytes + page - 1) / page * page;
        mapped_ = readable + 2 * page;
        memory_ = static_cast<char*>(mmap(nullptr, mapped_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
        mprotect(memory_ + page, readable, PROT_READ | PROT_WRITE);
        data_ = reinterpret_cast<float*>(memory_ + page + readable - bytes);
        std::memcpy(data_, values.data(), bytes);
    }
    GuardedFloats(const GuardedFloats&) = delete;
    GuardedFloats(GuardedFloats&& other) noexcept { *this = std::move(other); }
    GuardedFloats& operator=(const GuardedFloats&) = delete;
    GuardedFloats& operator=(GuardedFloats&& other) noexcept {
        std::swap(memory_, other.memory_);
        std::swap(mapped_, other.mapped_);
        std::swap(data_, other.data_);
        std::swap(size_, other.size_);
        return *this;
    }
    ~GuardedFloats() {
        if (memory_ != nullptr) munmap(memory_, mapped_);
    }

    float* data() { return data_; }
    bool has_the_bits_of(const std::vector<float>& values) const {
        return size_ == values.size() &&
               (size_ == 0 || std::memcmp(data_, values.data(), size_ * sizeof(float)) == 0);
    }
    /// Returns true if all numbers are as near to `values` as `share` of their size, or of 1. NaN must have equal
    /// bits.
    bool is_near(const std::vector<float>& values, float share) const {
        for (std::size_t i = 0; i < size_; ++i) {
            if (std::memcmp(data_ + i, &values[i], sizeof(float)) == 0) continue;
            const float distance = std::abs(data_[i] - values[i]);
            if (!(distance <= share * std::max(1.0F, std::abs(values[i])))) return false;
        }
        return size_ == values.size();
    }

  private:
    char* memory_ = nullptr;
    std::size_t mapped_ = 0;
    float* data_ = nullptr;
    std::size_t size_ = 0;
};

}  // namespace fp32shim::tests
