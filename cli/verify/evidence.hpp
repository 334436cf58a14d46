// Evidence in the output of `fp32shim verify`. It identifies each recording with its process, times and loaded files,
// so that a report can cite them. It also lists doubts, since somebody may have edited a recording.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "cli/output/json_fwd.hpp"
#include "cli/recordings/merged_calls.hpp"

namespace fp32shim::cli {

/// Sums of the calls of one recording.
struct JudgedCalls {
    std::int64_t first_ns = 0,
                 last_ns = 0;  ///< return times of the first and the last call: nanoseconds since 1970, UTC; 0: no
                               ///< calls
    std::uint64_t below = 0;   ///< number of calls that ran, or were allowed to run, below the floor
};

/// Sums up the calls of a recording. `is_below` returns true for a row whose calls count as JudgedCalls::below. It is
/// called with null for calls without a row.
JudgedCalls judge_calls(const record::RecordingReader& recording,
                        const std::function<bool(const record::RecordedRow*)>& is_below);

/// Returns facts that identify a recording and its process. Reads the whole file to compute the checksum.
Json evidence_of(const MergedProcess& process, const JudgedCalls& calls);

/// Describes fields of a row that contradict each other; empty if none do. A consistent row proves nothing, since
/// somebody may have changed all of its fields.
std::string contradiction_in(const MergedRow& row);

}  // namespace fp32shim::cli
