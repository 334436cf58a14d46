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

}  // namespace fp32shim::cli
