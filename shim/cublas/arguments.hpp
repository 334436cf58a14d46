// The arguments of a cuBLAS call: reads the program's arguments by role, and holds the arguments of the shim's own
// calls. Matrices and scalars are not read, since they may lie on the device.
#pragma once

#include <cstdint>

#include "shim/cublas/api.hpp"
#include "shim/cublas/library.hpp"
#include "shim/entry/frame.hpp"
#include "shim/table/functions.hpp"

namespace fp32shim::cublas {

/// Returns 'N', 'T', 'C' or 'R' (conjugate without transposing) for a value of cublasOperation_t, or '?' for an
/// unknown value.
inline char letter_of_operation(std::int32_t value) {
    static_assert(op_n == 0 && op_t == 1 && op_c == 2 && op_conjg == 3);
    return value >= op_n && value <= op_conjg ? "NTCR"[value] : '?';
}

/// Reads the arguments of one call. handle(), array(), integer_of_group(), operation_of_group(), and enumerator()
/// without a fallback have the precondition has(role).
class ArgumentReader {
  public:
    ArgumentReader(const Function& function, const Frame& frame)
        : ArgumentReader(function.positions(), frame, function.width == Width::ilp64) {
        is_legacy_ = function.convention == CallingConvention::legacy;
    }
    /// Reads the arguments of a function with these positions. The function must not be one of cuBLAS's interface
    /// before version 2.
    ArgumentReader(const ArgumentPositions& positions, const Frame& frame, bool is_wide)
        : positions_(positions), frame_(frame), is_wide_(is_wide) {}

    bool has(Role role) const { return positions_.of(role) >= 0; }
    std::int32_t enumerator(Role role) const { return static_cast<std::int32_t>(frame_.word(positions_.of(role))); }
    std::int32_t enumerator(Role role, std::int32_t fallback) const {
        return has(role) ? enumerator(role) : fallback;
    }
    Handle handle() const { return reinterpret_cast<Handle>(frame_.word(positions_.of(Role::handle))); }

    std::int64_t integer(Role role, std::int64_t fallback) const {
        if (!has(role)) return fallback;
        const std::int64_t word = frame_.word(positions_.of(role));
        return is_wide_ ? word : static_cast<std::int32_t>(word);
    }
    const void* array(Role role) const { return reinterpret_cast<const void*>(frame_.word(positions_.of(role))); }
    std::int64_t integer_of_group(Role role, std::int64_t group) const {
        return is_wide_ ? static_cast<const std::int64_t*>(array(role))[group]
                        : static_cast<const std::int32_t*>(array(role))[group];
    }
    char operation_of_group(Role role, std::int64_t group) const {
        return letter_of_operation(static_cast<const std::int32_t*>(array(role))[group]);
    }

    char operation(Role role) const {
        if (!has(role)) return 0;
        return is_legacy_ ? upper_case_letter(enumerator(role)) : letter_of_operation(enumerator(role));
    }
    bool is_right_sided() const {
        if (!has(Role::side)) return false;
        return is_legacy_ ? upper_case_letter(enumerator(Role::side)) == 'R' : enumerator(Role::side) == side_right;
    }

  private:
    static char upper_case_letter(std::int32_t value) {
        const char text = static_cast<char>(value);
        return text >= 'a' && text <= 'z' ? static_cast<char>(text - 32) : text;
    }

    const ArgumentPositions& positions_;
    const Frame& frame_;
    bool is_wide_;
    bool is_legacy_ = false;
};

/// The arguments of a call that the shim itself makes. They have the layout that entry points use for the program's
/// calls, so a Route can make the call.
class ArgumentFrame {
  public:
    ArgumentFrame() = default;
    /// Copies the arguments of the program's call of `function` from `frame`.
    ArgumentFrame(const Function& function, const Frame& frame) {
        for (int i = 0; i < function.positions().words; ++i) set(i, frame.word(i));
    }

    /// Sets the argument at `position`. Does nothing if the position is -1, which means that the function does not
    /// have the argument.
    void set(int position, std::int64_t word) {
        if (position >= 0) words_[Frame::offset_of(position) / sizeof(std::int64_t)] = word;
    }
    void set(int position, const void* pointer) { set(position, reinterpret_cast<std::int64_t>(pointer)); }

    const Frame& frame() const { return *static_cast<const Frame*>(static_cast<const void*>(words_)); }

  private:
    std::int64_t words_[max_words + 1] = {};
};

}  // namespace fp32shim::cublas
