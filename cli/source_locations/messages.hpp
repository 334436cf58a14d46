// Messages between the command and the child process that reads untrusted files.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/source_locations/source_locations.hpp"

namespace fp32shim::cli {

/// Parts of a file that may be read.
enum class ReadableParts : std::uint8_t { nothing, symbols, all };

/// A question for the locations of some addresses in one file.
struct LocationQuestion {
    std::string path;
    ReadableParts readable = ReadableParts::all;
    std::vector<std::uint64_t> addresses;  ///< addresses in the file
};

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(LocationQuestion, path, readable, addresses)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(SourceFrame, function, file, line, is_inlined)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(SourceLocation, frames, symbol, clone, exported, symbol_offset, why_unknown)

/// Returns a location for each address. Must run in a child process.
std::vector<SourceLocation> locate_addresses(const LocationQuestion& question);

}  // namespace fp32shim::cli
