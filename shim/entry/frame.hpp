// The arguments of a call, as the entry points (entry_*.S) hand them over.
#pragma once

#include <cstdint>

namespace fp32shim {

/// The arguments of a call as the entry point saved them: integer-class registers, and beyond them the stack.
struct Frame {
    /// The i-th integer-class argument, as a word: 32-bit values have anything in their upper half.
    std::int64_t word(int i) const {
        return *reinterpret_cast<const std::int64_t*>(reinterpret_cast<const char*>(this) + offset_of(i));
    }

    /// Where that word stands, in bytes.
    static constexpr std::uint8_t offset_of(int i) {
#if defined(__x86_64__)
        return static_cast<std::uint8_t>(8 * (i < 6 ? i : i + 1));  // the return address lies between
#else
        return static_cast<std::uint8_t>(8 * i);
#endif
    }

    /// The i-th floating-point argument as float32; i is 0 or 1. Not in the frames of cuBLAS's functions.
    float real(int i) const {
#if defined(__x86_64__)
        return *reinterpret_cast<const float*>(reinterpret_cast<const char*>(this) - 16 * (i + 1));
#else
        return *reinterpret_cast<const float*>(reinterpret_cast<const char*>(this) - 16 * (8 - i));
#endif
    }
};

}  // namespace fp32shim
