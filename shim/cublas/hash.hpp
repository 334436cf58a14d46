// A 64-bit hash of words, for tables of the shim's own.
#pragma once

#include <cstdint>

namespace fp32shim::cublas {

class Hash {
  public:
    void add(std::uint64_t word) {
        state_ = (state_ ^ word) * 0x9e3779b97f4a7c15U;
        state_ ^= state_ >> 32;
    }
    template <class Words>
    void add_all(const Words& words) {
        for (std::uint64_t word : words) add(word);
    }
    /// Never 0.
    std::uint64_t value() const { return state_ == 0 ? 1 : state_; }

  private:
    std::uint64_t state_ = 0x2545f4914f6cdd1dU;
};

}  // namespace fp32shim::cublas
