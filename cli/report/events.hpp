// Between recordings of the level `calls` and the report: each call is looked at once.
#pragma once

#include "cli/recordings/call_durations.hpp"
#include "cli/recordings/filter.hpp"
#include "cli/recordings/merged_calls.hpp"
#include "cli/report/timeline.hpp"
#include "record/read/reader.hpp"

namespace fp32shim::cli {

/// Adds the calls of `recording` that pass the filter to `durations` (by place in `calls.rows()`, those that were
/// timed) and to `timeline`; null: there is none. `calls` has the recording already. Reads all calls: about a third
/// of a second for ten million, half of one with a timeline.
void add_events(record::RecordingReader& recording, const Filter& filter, const MergedCalls& calls,
                CallDurations& durations, Timeline* timeline);

}  // namespace fp32shim::cli
