// A set of pairs of numbers, of which there may be ten million.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace fp32shim::cli {

/// Takes 16 bytes for each pair.
class PairSet {
  public:
    /// Adds a pair. Returns false if it was there. `first` is below UINT32_MAX.
    bool insert(std::uint32_t first, std::uint32_t second) {
        if (2 * used_ >= slots_.size()) grow();
        std::uint64_t& slot = slot_of((std::uint64_t{first} + 1) << 32 | second);
        if (slot != 0) return false;
        slot = (std::uint64_t{first} + 1) << 32 | second;
        ++used_;
        return true;
    }

  private:
    std::uint64_t& slot_of(std::uint64_t pair) {
        const std::size_t mask = slots_.size() - 1;
        std::size_t place = (pair * 0x9e3779b97f4a7c15U >> 32) & mask;
        while (slots_[place] != 0 && slots_[place] != pair) place = (place + 1) & mask;
        return slots_[place];
    }
    void grow() {
        const std::size_t size = slots_.empty() ? 1024 : 2 * slots_.size();
        for (const std::uint64_t pair : std::exchange(slots_, std::vector<std::uint64_t>(size)))
            if (pair != 0) slot_of(pair) = pair;
    }

    std::vector<std::uint64_t> slots_;  ///< hash table with open addressing; its size is a power of two; 0: free
    std::size_t used_ = 0;
};

}  // namespace fp32shim::cli
