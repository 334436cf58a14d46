// Lines of Python source files, for rules that name a line by its text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace fp32shim::where {

/// A source file that was read once, whole. Never freed.
struct SourceFile {
    std::uint64_t hash;                   ///< of `path`
    std::string_view path;                ///< as the interpreter has it
    const char* bytes;                    ///< nullptr: the file cannot be read
    std::span<const std::uint32_t> ends;  ///< of each line: the offset of its line feed, or the end of the file
    const SourceFile* next;

    /// Returns the text of a line, from 1, without blanks at either end; nullopt: there is no such line.
    std::optional<std::string_view> line(int number) const;
};

/// Returns a source file; nullptr: it cannot be read, is not a regular file, is larger than 4 MiB, or was changed
/// after the settings were read, so that its lines may not be those that run. One line on stderr says so, once. The
/// first question for a file reads it; later ones make no system call. At most 256 files are read. Thread-safe,
/// lock-free, async-signal-safe.
const SourceFile* source_file(std::string_view path);

}  // namespace fp32shim::where
