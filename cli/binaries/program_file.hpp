// Finds the file of a program, and decides whether the shim can be preloaded into it.
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
    std::string path;   ///< path for execve; if the program was not found, the searched name
    std::string cause;  ///< reason why the program was not found or cannot be executed; empty if it was found
};

/// Finds the program `name` as a shell does. A name with a slash is a path; other names are searched in the folders
/// of `path_variable`, the value of PATH. If `path_variable` is null, the C library's default folders are searched.
ProgramFile find_program(const std::string& name, const char* path_variable);

/// Returns the path of the running `fp32shim` program. Without /proc, derives the path from the name with which the
/// program was started. Returns an empty text on failure.
std::string own_program_path();

/// Returns the path of the first regular file named `name` in `folders`, or an empty text if there is none. A folder
/// is absolute, or relative to the folder of the running program.
std::string find_installed_file(std::initializer_list<const char*> folders, const char* name);

/// Returns true if the file is an ELF file of any architecture.
bool is_elf_file(const std::string& path);

/// The reason why the shim cannot be preloaded into a program. WhyUnseen::seen means that no such reason is known.
struct PreloadObstacle {
    record::WhyUnseen why = record::WhyUnseen::seen;
    std::string text;  ///< text after the program's name, such as `is statically linked`; empty if `why` is `seen`
};

/// Decides whether the shim can be preloaded into the program at `path`. If the program is a script (`#!`), examines
/// the script's interpreter instead.
PreloadObstacle find_preload_obstacle(const std::string& path);

}  // namespace fp32shim::cli
