// Rules by which a frame of compiled code leads to its caller, from the tables that compilers write for exceptions
// (.eh_frame). Pure: reads the tables only, and nothing outside of them, whatever they hold.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace fp32shim::where {

// Registers by their numbers in the tables (DWARF). Functions find their frames, and their return addresses, by
// these; a frame that is found by another register is not unwound.
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
inline constexpr std::size_t return_address_index = followed_count - 1;  ///< in `followed_registers`
inline constexpr std::uint8_t stack_pointer_index = followed_count;      ///< index that stands for the stack pointer

/// Rule of one address. The frame's address (CFA) is the stack pointer of the caller.
struct FrameRule {
    enum class Kind : std::uint8_t {
        unknown,    ///< there is no rule, or none that is followed here
        outermost,  ///< the function has no caller
        call,       ///< the other members say where the caller's registers are
        signal      ///< the kernel's frame of a signal handler: the stack pointer is at what it saved
    };
    Kind kind = Kind::unknown;
    std::uint8_t frame_register =
        stack_pointer_index;  ///< index of the register that the frame's address is found by
    std::uint8_t base_register =
        stack_pointer_index;       ///< index of the register by which `from_register` finds values
    bool frame_is_loaded = false;  ///< the frame's address is in memory, at that register plus `frame_offset`
    std::uint8_t saved = 0;        ///< bits, by index: the caller's value is in memory; else it is unchanged
    std::uint8_t from_register =
        0;                  ///< bits, by index: that memory is at `base_register` plus offset, not at the frame's
    std::uint8_t lost = 0;  ///< bits: the caller's value is not known
    std::int32_t frame_offset = 0;  ///< bytes from the frame register
    std::int32_t offsets[followed_count] = {};

    bool operator==(const FrameRule&) const = default;
};

/// The tables of one object. `header`: .eh_frame_hdr; `segment`: the readable part of the object around it.
/// `is_readable` is asked about each page that is to be read: a program may have unmapped it. nullptr: all are.
struct UnwindTables {
    std::span<const std::uint8_t> header;
    std::span<const std::uint8_t> segment;
    bool (*is_readable)(std::uintptr_t address) = nullptr;
};

/// Finds the rule for an instruction. For a frame that has called another, that is the call: its return address
/// less 1.
FrameRule find_frame_rule(const UnwindTables& tables, std::uintptr_t instruction);

}  // namespace fp32shim::where
