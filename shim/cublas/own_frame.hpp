// The arguments of a call that the shim itself makes. They have the layout that entry points use for the program's
// calls, so a Route can make the call.
#pragma once

#include <cstdint>

#include "shim/entry/frame.hpp"
#include "shim/table/functions.hpp"

namespace fp32shim::cublas {

class ArgumentFrame {
  public:
    ArgumentFrame() = default;
    /// Begins with the arguments of the program's call of this function.
    ArgumentFrame(const Function& function, const Frame& frame) {
        for (int i = 0; i < function.positions().words; ++i) set(i, frame.word(i));
    }

    /// Sets the argument at a position. Does nothing if the position is -1, which means that the function has no such
    /// argument.
    void set(int position, std::int64_t word) {
        if (position >= 0) words_[Frame::offset_of(position) / sizeof(std::int64_t)] = word;
    }
    void set(int position, const void* pointer) { set(position, reinterpret_cast<std::int64_t>(pointer)); }

    const Frame& frame() const { return *static_cast<const Frame*>(static_cast<const void*>(words_)); }

  private:
    std::int64_t words_[max_words + 1] = {};
};

}  // namespace fp32shim::cublas
