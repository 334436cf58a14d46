// Finds the rules that lead from a frame of compiled code to its caller, in the tables that compilers write for
// exceptions (.eh_frame). Reads only inside the tables, whatever they contain.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace fp32shim::where {

// The DWARF numbers of the registers that the unwinder follows. Nearly all functions find their frames and return
// addresses by these registers. A frame that needs another register is not unwound.
#if defined(__x86_64__)
inline constexpr std::uint8_t followed_registers[] = {6,  3,  12, 13,
                                                      14, 15, 16};  // rbp, rbx, r12 to r15, return address
inline constexpr std::uint8_t stack_pointer_number = 7;
#elif defined(__aarch64__)
inline constexpr std::uint8_t followed_registers[] = {29, 30};  // frame pointer, return address
inline constexpr std::uint8_t stack_pointer_number = 31;
#else
#error "fp32shim knows x86-64 and aarch64"
#endif
inline constexpr std::size_t followed_count = std::size(followed_registers);
inline constexpr std::size_t return_address_index = followed_count - 1;  ///< the index in `followed_registers`
inline constexpr std::uint8_t stack_pointer_index = followed_count;      ///< index that stands for the stack pointer

/// Tells how to find the caller of the function at one address. A frame's address (CFA) is the stack pointer of the
/// caller.
struct FrameRule {
    enum class FrameKind : std::uint8_t {
        unknown,    ///< there is no rule, or the unwinder does not support it
        outermost,  ///< the function has no caller
        call,       ///< the other members of FrameRule tell where the caller's registers are
        signal      ///< the kernel's frame of a signal handler: the stack pointer points to what the kernel saved
    };
    FrameKind kind = FrameKind::unknown;
    std::uint8_t frame_register =
        stack_pointer_index;  ///< index of the register from which the frame's address is computed
    std::uint8_t base_register =
        stack_pointer_index;  ///< index of the register from which the values in `from_register` are found
    /// True if the frame's address is stored in memory, at the value of `frame_register` plus `frame_offset`.
    bool frame_is_loaded = false;
    std::uint8_t saved = 0;  ///< bit i is set if the caller's value of register i is in memory; if no bit is set, the
                             ///< value is unchanged
    std::uint8_t from_register = 0;  ///< bit i is set if the value is at `base_register` plus offsets[i], not at the
                                     ///< frame's address plus offsets[i]
    std::uint8_t lost = 0;           ///< bit i is set if the caller's value is unknown
    std::int32_t frame_offset = 0;   ///< the number of bytes that are added to `frame_register`
    std::int32_t offsets[followed_count] = {};

    bool operator==(const FrameRule&) const = default;
};

/// The tables of one object. `header` is .eh_frame_hdr, `segment` the readable part of the object around it.
/// `is_readable` is called for each page before it is read, since a program may have unmapped the page. If it is
/// nullptr, all pages can be read.
struct UnwindTables {
    std::span<const std::uint8_t> header;
    std::span<const std::uint8_t> segment;
    bool (*is_readable)(std::uintptr_t address) = nullptr;
};

/// Finds the rule for an instruction. For a frame that has called another one, pass the address of the call: the
/// return address minus 1.
FrameRule find_frame_rule(const UnwindTables& tables, std::uintptr_t instruction);

}  // namespace fp32shim::where
