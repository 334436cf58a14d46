// Evidence in the output of `fp32shim verify`: identifies each recording, its process, times and loaded files, so
// that a report can cite them.
#pragma once

#include <cstdint>

#include "cli/output/json_fwd.hpp"
#include "cli/recordings/merged_calls.hpp"

namespace fp32shim::cli {

/// Times of the first and last call: nanoseconds since 1970, UTC; 0 without calls.
struct TimeSpan {
    std::int64_t first_ns = 0, last_ns = 0;
};

/// Returns the time span of a recording's calls.
TimeSpan time_span_of(const record::RecordingReader& recording);

/// Returns facts that identify a recording and its process. Reads the whole file for the checksum.
Json evidence_of(const MergedProcess& process, const TimeSpan& calls);

}  // namespace fp32shim::cli
