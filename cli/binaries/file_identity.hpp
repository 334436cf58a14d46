// Tells whether a file is still the same, by its checksum or by facts about the file that a recording holds.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "record/read/reader.hpp"

namespace fp32shim::cli {

/// Returns the SHA-256 of a regular file's content, as sha256sum prints it. Returns an empty text if the file cannot
/// be read, or if it is large and consists mostly of holes, because reading such a file would take minutes.
std::string sha256_of_file(const std::string& path);

/// Returns a text that changes whenever a regular file changes. The text is the SHA-256 of the content. For a file of
/// more than 256 MiB, which would take seconds to read, it is the size and the time of the last change. Returns an
/// empty text if the file cannot be read.
std::string checksum_or_mtime(const std::string& path);

/// Returns the reason, as the end of a sentence, why the file at the path of `object` may differ from the file that
/// the recorded process had loaded. Returns an empty text if the two are the same. `build_id` is the build id of the
/// file at the path.
std::string why_file_may_differ(const record::RecordedObject& object, std::vector<std::uint8_t> build_id);

/// Returns `path` without `..`, `.` and double slashes if the shorter path still leads to the same file. Otherwise
/// returns `path` unchanged.
std::string normalized_path(const std::string& path);

}  // namespace fp32shim::cli
