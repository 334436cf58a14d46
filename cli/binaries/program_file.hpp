// Finds a program's file, and decides if the shim can be preloaded into it.
#pragma once

#include <cstdint>
#include <string>

#include "record/inspect_program.hpp"

namespace fp32shim::cli {

enum class Lookup : std::uint8_t { found, not_found, not_executable };

/// Program file that find_program() found, or the reason why it cannot be started.
struct ProgramFile {
    Lookup lookup = Lookup::not_found;
    std::string path;   ///< path for execve; if nothing was found, the name that was asked for
    std::string cause;  ///< reason why the program was not found or cannot be executed
};

/// Finds `name` as a shell does: a name with a slash is a path, others are searched in `path_variable`, the value of
/// PATH (null: the C library's default).
ProgramFile find_program(const std::string& name, const char* path_variable);

/// Returns the file of this command; without /proc, by the name that it was started by. Empty on failure.
std::string own_program();

/// Returns true for an ELF file, whatever its processor.
bool is_elf(const std::string& path);

/// Reason why the shim cannot be preloaded into a program. The reason `seen` means that none is known.
struct Unseen {
    record::WhyUnseen why = record::WhyUnseen::seen;
    std::string text;  ///< words after the program's name: `is statically linked`; empty if `why` is `seen`
};

/// Judges if the shim can be preloaded into the program at `path`; judges a script (`#!`) by its interpreter.
Unseen why_unseen(const std::string& path);

}  // namespace fp32shim::cli
