// Whether a program that is about to be started will have the shim in it: judged by its file, as the kernel and the
// loader will read it. For `fp32shim run`, and within recorded processes that start others.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace fp32shim::record {

/// Why a program is not seen. Values are in recordings (format/format.hpp): a new one goes to the end.
enum class WhyUnseen : std::uint8_t {
    seen,
    statically_linked,
    other_machine,
    musl,
    other_user,
    capabilities,
    not_readable,
    no_preload,
    library_out_of_reach,
    log_out_of_reach,
    other_log,
    switched_off,
};

/// A few words that go after the program's name: `is statically linked`. Empty for `seen`, and for values that this
/// version does not know.
std::string_view to_string(WhyUnseen why);

/// A program's file, as far as it decides whether the loader preloads into it.
struct ProgramLook {
    WhyUnseen why = WhyUnseen::seen;
    bool can_start = false;             ///< there is an executable file, and its interpreter where it is a script
    std::string_view interpreter = {};  ///< of a script: the last one, in the caller's buffer; empty: it is no script
};

/// What the kernel reads of a file to see what it is.
inline constexpr std::size_t program_head_size = 256;

/// Looks at the file behind `path`; `#!` lines are followed as the kernel does. What cannot be started is
/// `seen`. `interpreter`: for a script's. Raw system calls and little stack; allocates nothing, leaves errno alone:
/// safe in signal handlers and after vfork.
ProgramLook look_at_program(const char* path, std::span<char, program_head_size> interpreter);

}  // namespace fp32shim::record
