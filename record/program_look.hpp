// Whether a program that is about to be started will have the shim in it: judged by its file, as the kernel and the
// loader will read it. For `fp32shim run`, and within recorded processes that start others.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "record/why_unseen.hpp"

namespace fp32shim::record {

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
