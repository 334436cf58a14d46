// Formats events as lines of JSON and in words. The formatters are pure: they write to their arguments only.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "record/events.hpp"
#include "record/lines/json_line.hpp"

namespace fp32shim::record {

/// Version of the log's format. It grows when a key is removed or changes its meaning. New keys and codes do not
/// change it.
inline constexpr int log_schema = 1;

/// Longest line in bytes, its line feed included. DecisionLog may put one more line feed before it. Together they
/// have at most 4096 bytes: PIPE_BUF, the largest write to a pipe that is atomic.
inline constexpr std::size_t line_limit = 4095;

/// Write one JSON object and a line feed to `out`, and return their size, at most line_limit; 0: `out` is too small.
/// line_limit bytes always suffice. Long values are truncated (docs/schema.md, "Cut values"). Thread-safe,
/// allocate nothing.
std::size_t format_start(const StartEvent& event, const ProcessFacts& facts, const Moment& moment,
                         std::span<char> out);
std::size_t format_decision(const DecisionEvent& event, const ProcessFacts& facts, const Moment& moment,
                            std::span<char> out);
std::size_t format_error(const ErrorEvent& event, const ProcessFacts& facts, const Moment& moment,
                         std::span<char> out);

/// Writes a decision in words, for `FP32_MATMUL_LOG=stderr`: `cblas_sgemm 128x128x128 NT float32 from libfoo.so ->
/// libopenblas.so.0: high (environment) -> tf32 by rounding operands`. The caller adds `fp32shim: ` and the line
/// feed. Writes at most 1600 bytes and returns a view of them. Thread-safe, allocates nothing.
std::string_view format_decision_text(const DecisionEvent& event, std::span<char> out);

/// Writes the keys that every event begins with. `Line` is JsonLine, or a type with the same members for keys and
/// values.
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

/// Writes the keys of a decision, which follow those of write_common_fields(). `write_call_field(key, value)` writes
/// the field that differs from call to call.
template <class WriteCallField>
void write_decision_fields(JsonLine& line, const DecisionEvent& event, const WriteCallField& write_call_field) {
#define DECISION_FIELD(key, member, kind, ...) line.kind(#key, event.member __VA_OPT__(, ) __VA_ARGS__);
#define CALL_FIELD(key, member, kind) write_call_field(#key, event.member);
#include "record/decision_fields.def"
}

}  // namespace fp32shim::record
