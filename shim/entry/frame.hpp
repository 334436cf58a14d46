// The arguments of a call, in the form in which the entry points (entry/*.S) pass them to C++.
#pragma once

#include <cstdint>

namespace fp32shim {

/// The arguments of a call, as the entry point saved them: first the integer-class registers, then the stack.
struct Frame {
    /// Returns the i-th integer-class argument as a word. The upper half of a 32-bit value is undefined.
    std::int64_t word(int i) const { return word_at(offset_of(i)); }
    /// Returns the word at `offset` bytes from the beginning.
    std::int64_t word_at(std::uint8_t offset) const {
        return *reinterpret_cast<const std::int64_t*>(reinterpret_cast<const char*>(this) + offset);
    }

    static constexpr std::uint8_t offset_of(int i) {
#if defined(__x86_64__)
        // The return address, which follows six registers, is skipped.
        return static_cast<std::uint8_t>(8 * (i < 6 ? i : i + 1));
#else
        return static_cast<std::uint8_t>(8 * i);
#endif
    }

    /// Returns the bits of floating-point argument number `i`, 0 or 1. A float32 is in the lower half (both
    /// architectures are little-endian). Frames of cuBLAS's functions have no floating-point arguments.
    std::uint64_t real_bits(int i) const {
        return *reinterpret_cast<const std::uint64_t*>(reinterpret_cast<const char*>(this) + offset_of_real(i));
    }
    /// Sets the bits of floating-point argument number `i`. This is also how a call returns a floating-point number:
    /// fp32shim_govern_gate loads both arguments into their registers before it returns to the program.
    void set_real_bits(int i, std::uint64_t bits) {
        *reinterpret_cast<std::uint64_t*>(reinterpret_cast<char*>(this) + offset_of_real(i)) = bits;
    }

  private:
    static constexpr int offset_of_real(int i) {
#if defined(__x86_64__)
        return -16 * (i + 1);
#else
        return -16 * (8 - i);
#endif
    }
};

}  // namespace fp32shim
