// What `fp32shim verify` says of the recordings that it judged, so that a report can name them: whose they are, when
// they were made, of which programs and libraries, and which files these are.
#pragma once

#include <cstdint>

#include "cli/output/json.hpp"
#include "cli/recordings/merged_calls.hpp"

namespace fp32shim::cli {

/// Of first and last call of a recording: nanoseconds since 1970, UTC; 0 where there are none.
struct TimeSpan {
    std::int64_t first_ns = 0, last_ns = 0;
};
TimeSpan time_span_of(const record::RecordingReader& recording);

/// One recording. Reads its whole file.
Json evidence_of(const MergedProcess& process, const TimeSpan& calls);

}  // namespace fp32shim::cli
