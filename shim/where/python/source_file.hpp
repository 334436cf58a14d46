// Reads lines of Python source files, for rules that name a line by its text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace fp32shim::where {

/// A source file, read whole and only once. Never freed.
struct SourceFile {
    std::uint64_t hash;                   ///< hash of `path`
    std::string_view path;                ///< in the form that the interpreter has
    const char* bytes;                    ///< nullptr: the file cannot be read
    std::span<const std::uint32_t> ends;  ///< for each line: the offset of its line feed, or the end of the file
    const SourceFile* next;

    /// Returns the text of a line without blanks at either end, or nullopt if there is no such line. `number` counts
    /// from 1.
    std::optional<std::string_view> line(int number) const;
};

/// Returns a source file. Returns nullptr, and prints one line on stderr once, if the file cannot be read, is not a
/// regular file, is empty, or is larger than 4 MiB. The same goes for a file changed after the settings were read,
/// whose lines may not be those that run, and for further files once 256 were read. The first call for a file reads
/// it; later calls make no system call. Thread-safe, lock-free, async-signal-safe.
const SourceFile* source_file(std::string_view path);

}  // namespace fp32shim::where
