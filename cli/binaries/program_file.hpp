// The file behind a program's name, and whether the loader will look at a preload when it starts it.
#pragma once

#include <cstdint>
#include <string>

#include "record/program_look.hpp"

namespace fp32shim::cli {

enum class Lookup : std::uint8_t { found, not_found, not_executable };

struct ProgramFile {
    Lookup lookup = Lookup::not_found;
    std::string path;   ///< as execve takes it; where nothing was found, the name
    std::string cause;  ///< the system's words where it was not found or cannot be executed
};

/// Finds `name` as a shell does: a name with a slash is a path, any other is searched for in `path_variable` (the
/// value of PATH; null: the C library's default).
ProgramFile find_program(const std::string& name, const char* path_variable);

/// Whether the file is a binary of this kind of system, for whatever processor.
bool is_elf(const std::string& path);

/// Why a program at `path` runs unseen; `seen` where a preload reaches it, or where that cannot be told. A script
/// (`#!`) is judged by its interpreter.
struct Unseen {
    record::WhyUnseen why = record::WhyUnseen::seen;
    std::string text;  ///< a few words that go after "it": `is statically linked`; empty: it is seen
};
Unseen why_unseen(const std::string& path);

}  // namespace fp32shim::cli
