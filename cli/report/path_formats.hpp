// Call paths in the output of reports and comparisons.
#pragma once

#include <string>
#include <vector>

#include "cli/output/json_fwd.hpp"
#include "cli/recordings/call_paths.hpp"
#include "cli/recordings/merged_calls.hpp"

namespace fp32shim::cli {

/// Calls of one path that ran at one format.
struct PathShare : ShareWithWork {
    std::uint32_t node = 0;  ///< innermost level: index in CallPaths::nodes()
    SharedText format;       ///< format at which the calls ran; `unknown` for calls without a decision
};

/// Returns the calls by path and format, sorted by node.
std::vector<PathShare> path_shares(const CallPaths& paths, const MergedCalls& calls);

/// Returns the frames of a path, separated by `;` and without control characters: `main (train.py:9);cblas_sgemm`.
std::string folded_line(const CallPaths& paths, std::uint32_t node);

/// Returns a frame as JSON: `parent`, `file`, `function`, `line`, `offset` and `call_site`. `node` must not be the
/// root.
Json frame_json(const PathNode& node);
/// Returns the calls of one path as JSON: `frame`, `applied`, `calls`, `host_ns`, `timed_calls` and `flops_total`.
Json path_json(const PathShare& share);

}  // namespace fp32shim::cli
