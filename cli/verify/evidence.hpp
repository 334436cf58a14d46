// Evidence in the output of `fp32shim verify`. It identifies each recording with its process, times and loaded files,
// so that a report can cite them. It also lists doubts, since somebody may have edited a recording.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "cli/output/json_fwd.hpp"
#include "cli/recordings/merged_calls.hpp"

namespace fp32shim::cli {

/// Sums of the calls of one recording.
struct JudgedCallCounts {
    std::int64_t first_ns = 0,
                 last_ns = 0;  ///< return times of the first and the last call: nanoseconds since 1970, UTC; 0: no
                               ///< calls
    std::uint64_t below = 0;   ///< number of calls that violate what is asked
    std::map<std::size_t, std::uint64_t> below_by_row;  ///< numbers of such calls, by index in MergedCalls::rows()
};

/// Sums up the calls of a recording. `is_below` returns true for a row whose calls count as JudgedCallCounts::below.
/// It is called with null for calls without a row. `index_of` returns a row's index in MergedCalls::rows().
JudgedCallCounts count_judged_calls(
    const record::RecordingReader& recording, const std::function<bool(const record::RecordedRow*)>& is_below,
    const std::function<std::optional<std::size_t>(const record::RecordedRow*)>& index_of);

/// Returns the facts that name a recording and its process: path, program, command, host, pid, job and rank.
Json process_identity_json(const MergedProcess& process);

/// Returns facts that identify a recording and its process. Reads the whole file to compute the checksum.
Json process_evidence_json(const MergedProcess& process, const JudgedCallCounts& calls);

/// Describes fields of a row that contradict each other; empty if none do. A consistent row proves nothing, since
/// somebody may have changed all of its fields.
std::string describe_contradiction(const MergedRow& row);

}  // namespace fp32shim::cli
