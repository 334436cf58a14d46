// Keys of events, in their order. `Line` is a JsonLine, or has its members that take a key and a value.
#pragma once

#include <string_view>

#include "record/events.hpp"
#include "record/lines/json_line.hpp"

namespace fp32shim::record {

/// Writes the keys that every event begins with.
template <class Line>
void write_common_fields(Line& line, std::string_view event, const ProcessFacts& facts, const Moment& moment) {
    line.code("event", event)
        .integer("schema", log_schema)
        .utc_time("time", moment.time_ns)
        .integer("time_ns", moment.time_ns)
        .string("host", facts.host, 128)
        .string("job_id", facts.job_id, 128)
        .size("rank", facts.rank)
        .integer("pid", moment.pid)
        .size("tid", moment.tid)
        .string("executable", facts.executable, 512);
}

/// Writes the keys of a decision, which follow those of write_common_fields().
void write_decision_fields(JsonLine& line, const DecisionEvent& event);

}  // namespace fp32shim::record
