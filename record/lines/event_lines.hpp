// Formats events as lines of JSON and in words. The formatters are pure: they write to their arguments only.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "record/events.hpp"

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
std::size_t format_start(const StartEvent& event, const ProcessFacts& facts, const TimeAndThread& moment,
                         std::span<char> out);
std::size_t format_decision(const DecisionEvent& event, const ProcessFacts& facts, const TimeAndThread& moment,
                            std::span<char> out);
std::size_t format_error(const ErrorEvent& event, const ProcessFacts& facts, const TimeAndThread& moment,
                         std::span<char> out);

/// Writes a decision in words, for `FP32_MATMUL_LOG=stderr`: `cblas_sgemm 128x128x128 NT float32 from libfoo.so ->
/// libopenblas.so.0: high (environment) -> tf32 by rounding operands`. The caller adds `fp32shim: ` and the line
/// feed. Writes at most 1600 bytes and returns a view of them. Thread-safe, allocates nothing.
std::string_view format_decision_text(const DecisionEvent& event, std::span<char> out);

}  // namespace fp32shim::record
