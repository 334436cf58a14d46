// Finds the bypasses that recorded processes may have used, judged by the files that they had loaded and the children
// that they started.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cli/recordings/merged_calls.hpp"

namespace fp32shim::cli {

/// A bypass that some process may have used, or a gap in what is known of the process.
struct PossibleBypass {
    std::string name;    ///< `--assume-unused` takes this name; `child:NAME` for a child that was not covered
    std::string reason;  ///< sentence after the name: why something may have multiplied unseen
    std::string remedy;  ///< setting that governs it; empty where there is none
    std::uint16_t pins;  ///< record::pin_… if the environment had all that keep it at float32; else 0
    std::vector<std::string> recordings;  ///< paths of the recordings of these processes
};

/// Returns true if the process left this recording by a reload and went on in another of `processes`. The other
/// recording tells what was loaded later.
bool is_continued(const MergedProcess& process, const std::vector<MergedProcess>& processes);

/// Returns each possible bypass once. Reads the loaded files that are still the same. The others are judged by their
/// names, and reported as the bypass `unread`.
std::vector<PossibleBypass> find_possible_bypasses(const std::vector<MergedProcess>& processes);

/// Returns true for `child:NAME`.
bool is_child_name(std::string_view name);

/// Names of all bypasses but children.
std::vector<std::string_view> possible_bypass_names();

}  // namespace fp32shim::cli
