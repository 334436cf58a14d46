// Single calls of recordings: the source of medians and timelines.
#pragma once

#include "record/read/reader.hpp"

namespace fp32shim::cli {

class CallDurations;
class Filter;
class MergedCalls;
class Timeline;

/// Adds those calls of `recording` that pass the filter to `timeline`, unless `timeline` is null. Adds the timed ones
/// of these calls to `durations`, by index in `calls.rows()`. Precondition: `calls` includes the recording. Reads ten
/// million calls in a third of a second, with a timeline in half a second.
void add_single_calls(record::RecordingReader& recording, const Filter& filter, const MergedCalls& calls,
                      CallDurations& durations, Timeline* timeline);

}  // namespace fp32shim::cli
