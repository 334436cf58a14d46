// Reads lines of Python source files, for rules that name a line by its text.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace fp32shim::where {

/// A source file that was read once, as a whole. Never freed.
struct SourceFile {
    std::uint64_t hash;     ///< hash of `path`
    std::string_view path;  ///< the path as the interpreter has it
    const char* bytes;      ///< the text, or nullptr if the file cannot be read
    /// The offset of each line feed and, for the last line, the offset of the file's end.
    std::span<const std::uint32_t> ends;
    const SourceFile* next;

    /// Returns the text of a line without blanks at either end, or nullopt if there is no such line. `number` counts
    /// from 1.
    std::optional<std::string_view> line(int number) const;
};

/// Returns a source file. Returns nullptr, and prints one line on stderr once per process, if the file cannot be
/// read, is not a regular file, is empty, or is larger than 4 MiB, or if 256 files were already read. Also does so
/// if the file was changed after the shim read its settings, because Python may be running older lines. The first
/// call for a file reads it; later calls make no system call. Thread-safe, lock-free, async-signal-safe.
const SourceFile* source_file(std::string_view path);

}  // namespace fp32shim::where
