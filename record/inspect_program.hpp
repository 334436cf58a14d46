// Predicts if a program will load the shim, by reading its file as the kernel and the loader will read it. The
// command `fp32shim run` uses this code, and so do recorded processes that start other programs.
#pragma once

#include <span>
#include <string_view>

#include "record/why_unseen.hpp"

namespace fp32shim::record {

/// Result of inspect_program(): how a program starts, and if it then loads the shim.
struct InspectedProgram {
    WhyUnseen why = WhyUnseen::seen;
    bool can_start = false;             ///< the file is executable and, if it is a script, its interpreter exists
    std::string_view interpreter = {};  ///< a script's last interpreter, in the caller's buffer; empty: the file is
                                        ///< not a script
};

/// Number of bytes at the start of a file from which the kernel learns how to start it.
inline constexpr std::size_t program_head_size = 256;

/// Predicts if the program at `path` would load the shim. Follows `#!` lines as the kernel does. For a file that
/// cannot be started, `can_start` is false and `why` is `seen`. `interpreter` is a buffer for the text of
/// InspectedProgram::interpreter. Makes raw system calls, uses little stack, allocates nothing and leaves errno
/// alone. So it is safe in signal handlers and after vfork.
InspectedProgram inspect_program(const char* path, std::span<char, program_head_size> interpreter);

}  // namespace fp32shim::record
