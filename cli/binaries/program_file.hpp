// Finds a program's file, and decides if the shim can be preloaded into it.
#pragma once

#include <cstdint>
#include <string>

#include "record/program_look.hpp"

namespace fp32shim::cli {

enum class Lookup : std::uint8_t { found, not_found, not_executable };

/// Result of looking a program up.
struct ProgramFile {
    Lookup lookup = Lookup::not_found;
    std::string path;   ///< path for execve; the name if nothing was found
    std::string cause;  ///< reason why it was not found or cannot be executed
};

/// Finds `name` as a shell does: a name with a slash is a path, others are searched in `path_variable`, the value of
/// PATH (null: the C library's default).
ProgramFile find_program(const std::string& name, const char* path_variable);

/// Returns true for an ELF file, whatever its processor.
bool is_elf(const std::string& path);

/// Reason why a program runs unseen. `seen` if it can be preloaded into, or if that is not known.
struct Unseen {
    record::WhyUnseen why = record::WhyUnseen::seen;
    std::string text;  ///< words that follow "it": `is statically linked`; empty: it is seen
};

/// Judges the program at `path`; a script (`#!`) by its interpreter.
Unseen why_unseen(const std::string& path);

}  // namespace fp32shim::cli
