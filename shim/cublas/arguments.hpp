// Reads the arguments of a cuBLAS call by role. Reads values only, since matrices and scalars may lie on the device.
#pragma once

#include <cstdint>

#include "shim/cublas/api.hpp"
#include "shim/cublas/library.hpp"
#include "shim/entry/frame.hpp"
#include "shim/table/functions.hpp"

namespace fp32shim::cublas {

/// Returns 'N', 'T', 'C' or 'R' (conjugate), or '?' for an unknown value of cublasOperation_t.
inline char letter_of_operation(std::int32_t value) {
    static_assert(op_n == 0 && op_t == 1 && op_c == 2 && op_conjg == 3);
    return value >= op_n && value <= op_conjg ? "NTCR"[value] : '?';
}

/// Reads the arguments of one call. Functions that take a role but no fallback have the precondition has(role).
class ArgumentReader {
  public:
    ArgumentReader(const Function& function, const Frame& frame)
        : ArgumentReader(function.positions(), frame, function.width == Width::ilp64) {
        is_legacy_ = function.convention == CallingConvention::legacy;
    }
    /// Reads those of a function with these positions; not of the legacy interface.
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
        return is_legacy_ ? letter(enumerator(role)) : letter_of_operation(enumerator(role));
    }
    bool is_right_sided() const {
        if (!has(Role::side)) return false;
        return is_legacy_ ? letter(enumerator(Role::side)) == 'R' : enumerator(Role::side) == side_right;
    }

  private:
    static char letter(std::int32_t value) {
        const char text = static_cast<char>(value);
        return text >= 'a' && text <= 'z' ? static_cast<char>(text - 32) : text;
    }

    const ArgumentPositions& positions_;
    const Frame& frame_;
    bool is_wide_;
    bool is_legacy_ = false;
};

}  // namespace fp32shim::cublas
