// Evidence in the output of `fp32shim verify`: identifies each recording, its process, times and loaded files, so
// that a report can cite them. And doubts about it: somebody may have changed a byte of the recording.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "cli/output/json_fwd.hpp"
#include "cli/recordings/merged_calls.hpp"

namespace fp32shim::cli {

/// Facts about the calls of one recording.
struct JudgedCalls {
    std::int64_t first_ns = 0,
                 last_ns = 0;  ///< times of the first and last: nanoseconds since 1970, UTC; 0: no calls
    std::uint64_t below = 0;   ///< number of calls that ran below the floor, or were allowed to
};

/// Sums the calls of a recording up. `is_below`: true for a row whose calls count as JudgedCalls::below; null: calls
/// without a row.
JudgedCalls judge_calls(const record::RecordingReader& recording,
                        const std::function<bool(const record::RecordedRow*)>& is_below);

/// Returns facts that identify a recording and its process. Reads the whole file for the checksum.
Json evidence_of(const MergedProcess& process, const JudgedCalls& calls);

/// Describes fields of the row that contradict each other; empty if none do. Absence of contradictions proves
/// nothing, since somebody may have changed all fields consistently.
std::string contradiction_in(const MergedRow& row);

}  // namespace fp32shim::cli
