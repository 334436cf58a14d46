// Reads single calls of recordings of the level `calls` for the report, each once.
#pragma once

#include "cli/recordings/call_durations.hpp"
#include "cli/recordings/filter.hpp"
#include "cli/recordings/merged_calls.hpp"
#include "cli/report/timeline.hpp"
#include "record/read/reader.hpp"

namespace fp32shim::cli {

/// Adds the calls of `recording` that pass the filter to `timeline`, unless it is null, and the timed ones to
/// `durations`, by index in `calls.rows()`. Precondition: `calls` includes the recording. Reads ten million calls in
/// a third of a second, with a timeline in half a second.
void add_events(record::RecordingReader& recording, const Filter& filter, const MergedCalls& calls,
                CallDurations& durations, Timeline* timeline);

}  // namespace fp32shim::cli
