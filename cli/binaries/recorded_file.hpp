// Tells if a file is still the one that a recorded process had loaded.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "record/read/reader.hpp"

namespace fp32shim::cli {

/// Returns the reason why the file at the object's path, which has this build id, may not be the one that was loaded:
/// the predicate of a sentence. Empty if it is the same.
std::string why_another_file(const record::RecordedObject& object, std::vector<std::uint8_t> build_id);

/// Returns the path without `..`, `.` and double slashes, if it is one of the same file then; otherwise the path
/// itself.
std::string plain_path(const std::string& path);

}  // namespace fp32shim::cli
