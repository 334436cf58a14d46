// Checksums of files.
#pragma once

#include <string>

namespace fp32shim::cli {

/// Returns the SHA-256 of a regular file's content as sha256sum prints it. Returns an empty text if the file cannot
/// be read, or if it is large and mostly a hole, since reading it would take minutes.
std::string sha256_of_file(const std::string& path);

/// Returns a text that changes with a regular file: the SHA-256 of its content; of more than 256 MiB, which would
/// take seconds to read, its size and the time of its last change. Returns an empty text if the file cannot be read.
std::string version_of_file(const std::string& path);

}  // namespace fp32shim::cli
