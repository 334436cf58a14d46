// Call paths in the formats that other tools open.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "cli/output/json_fwd.hpp"
#include "cli/recordings/call_paths.hpp"
#include "cli/recordings/merged_calls.hpp"
#include "cli/report/output_file.hpp"

namespace fp32shim::cli {

/// Calls by one path that ran at one format.
struct PathShare : ShareWithWork {
    std::uint32_t node = 0;  ///< innermost level: place in CallPaths::nodes()
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

/// Writes a line for each path and format: `outermost;…;cblas_sgemm [tf32] 1234`. flamegraph.pl and speedscope read
/// it. The number is nanoseconds, calls or floating-point operations, by `weight`.
void write_folded(const CallPaths& paths, const MergedCalls& calls, RowOrder weight, ReportOutput& output);
/// Writes speedscope's file format (https://www.speedscope.app/file-format-schema.json): profiles of host time, calls
/// and work, of which the one of `weight` is shown first.
void write_speedscope(const CallPaths& paths, const MergedCalls& calls, RowOrder weight, ReportOutput& output);

}  // namespace fp32shim::cli
