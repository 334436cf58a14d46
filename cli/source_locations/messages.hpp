// The messages between the command and its child process, which reads untrusted files.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/source_locations/source_locations.hpp"

namespace fp32shim::cli {

/// The parts of a file that the child process may read. `symbols` means the symbol tables without debug information.
enum class ReadableParts : std::uint8_t { nothing, symbols, all };

/// A question for the source locations of some addresses in one file.
struct LocationQuestion {
    std::string path;
    ReadableParts readable = ReadableParts::all;
    std::vector<std::uint64_t> addresses;  ///< addresses as they are in the file
};

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(LocationQuestion, path, readable, addresses)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(SourceFrame, function, file, line, is_inlined)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(SourceLocation, frames, symbol, clone, exported, symbol_offset, why_unknown)

/// Returns one location for each address of the question. Must be called in a child process, which a damaged file
/// may crash.
std::vector<SourceLocation> locate_addresses(const LocationQuestion& question);

}  // namespace fp32shim::cli
