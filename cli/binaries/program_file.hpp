// Finds the file of a program, and decides if the shim can be preloaded into it.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>

#include "record/inspect_program.hpp"

namespace fp32shim::cli {

enum class Lookup : std::uint8_t { found, not_found, not_executable };

/// A program file found by find_program(), or the reason why it cannot be started.
struct ProgramFile {
    Lookup lookup = Lookup::not_found;
    std::string path;   ///< path for execve; if nothing was found, the name that was searched
    std::string cause;  ///< reason why the program was not found or cannot be executed
};

/// Finds `name` as a shell does. A name with a slash is a path; other names are searched in `path_variable`, the
/// value of PATH. Null stands for the C library's default.
ProgramFile find_program(const std::string& name, const char* path_variable);

/// Returns the path of this command's file; without /proc, derives it from the name with which it was started. Empty
/// on failure.
std::string own_program_path();

/// Returns the first regular file of this name in `folders`, which are relative to that of this command or absolute;
/// empty if there is none.
std::string find_installed_file(std::initializer_list<const char*> folders, const char* name);

/// Returns true for an ELF file of any architecture.
bool is_elf_file(const std::string& path);

/// Reason why the shim cannot be preloaded into a program. The reason `seen` means that it can, as far as is known.
struct PreloadObstacle {
    record::WhyUnseen why = record::WhyUnseen::seen;
    std::string text;  ///< text after the program's name: `is statically linked`; empty if `why` is `seen`
};

/// Decides if the shim can be preloaded into the program at `path`. For a script (`#!`), its interpreter counts.
PreloadObstacle find_preload_obstacle(const std::string& path);

}  // namespace fp32shim::cli
