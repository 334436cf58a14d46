// Tells whether a file is still the same: by its checksum, or by what a recorded process saw of it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "record/read/reader.hpp"

namespace fp32shim::cli {

/// Returns the SHA-256 of a regular file's content as sha256sum prints it. Returns an empty text if the file cannot
/// be read, or if it is large and mostly a hole, since reading it would take minutes.
std::string sha256_of_file(const std::string& path);

/// Returns a text that changes with a regular file: the SHA-256 of its content; of more than 256 MiB, which would
/// take seconds to read, its size and the time of its last change. Returns an empty text if the file cannot be read.
std::string checksum_or_mtime(const std::string& path);

/// Returns the reason why the file at the object's path may differ from the loaded one, as the end of a sentence;
/// empty if it is the same. `build_id` is that of the file.
std::string why_file_may_differ(const record::RecordedObject& object, std::vector<std::uint8_t> build_id);

/// Returns the path without `..`, `.` and double slashes if it still leads to the same file; otherwise the path
/// itself.
std::string normalized_path(const std::string& path);

}  // namespace fp32shim::cli
