// Call paths as reports and comparisons write them.
#pragma once

#include <string>
#include <vector>

#include "cli/output/json_fwd.hpp"
#include "cli/recordings/call_paths.hpp"
#include "cli/recordings/merged_calls.hpp"

namespace fp32shim::cli {

/// Calls by one path that ran at one format.
struct PathShare : ShareWithWork {
    std::uint32_t node = 0;  ///< innermost level: index in CallPaths::nodes()
    SharedText format;       ///< format that the calls ran at; `unknown` for calls without a decision
};

/// Returns the calls of each path and format, by rising node.
std::vector<PathShare> path_shares(const CallPaths& paths, const MergedCalls& calls);

/// Returns the frames of a path with `;` between them, in plain characters: `main (train.py:9);cblas_sgemm`.
std::string folded_line(const CallPaths& paths, std::uint32_t node);

/// Returns a frame in JSON: `parent`, `file`, `function`, `line`, `offset` and `call_site`. `node`: not the root.
Json frame_json(const PathNode& node);
/// Returns calls of one path in JSON: `frame`, `applied`, `calls`, `host_ns`, `timed_calls` and `flops_total`.
Json path_json(const PathShare& share);

}  // namespace fp32shim::cli
