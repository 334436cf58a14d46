// Decides if a file is still the same as when a recorded process loaded it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "record/read/reader.hpp"

namespace fp32shim::cli {

/// Returns the reason why the file at the object's path may differ from the loaded one, as the end of a sentence;
/// empty if it is the same. `build_id` is that of the file.
std::string why_file_may_differ(const record::RecordedObject& object, std::vector<std::uint8_t> build_id);

/// Returns the path without `..`, `.` and double slashes if it still leads to the same file; otherwise the path
/// itself.
std::string plain_path(const std::string& path);

}  // namespace fp32shim::cli
