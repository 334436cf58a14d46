// Judges by a program's file, read as the kernel and the loader will read it, if the program will have the shim in
// it. For `fp32shim run`, and for recorded processes that start others.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "record/why_unseen.hpp"

namespace fp32shim::record {

/// Result of inspect_program(): if and how a program starts, and if the shim is then loaded.
struct InspectedProgram {
    WhyUnseen why = WhyUnseen::seen;
    bool can_start = false;             ///< there is an executable file and, for a script, its interpreter
    std::string_view interpreter = {};  ///< a script's last interpreter, in the caller's buffer; empty: no script
};

/// Number of bytes at a file's begin by which the kernel tells how to start it.
inline constexpr std::size_t program_head_size = 256;

/// Judges if the program at `path` would load the shim, following `#!` lines as the kernel does. A file that cannot
/// be started counts as `seen`. `interpreter`: buffer for InspectedProgram::interpreter. Raw system calls and little
/// stack; allocates nothing, leaves errno alone: safe in signal handlers and after vfork.
InspectedProgram inspect_program(const char* path, std::span<char, program_head_size> interpreter);

}  // namespace fp32shim::record
