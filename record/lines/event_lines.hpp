// Formats events as lines of JSON and in words. The functions change nothing except the buffer that they are given.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "record/events.hpp"

namespace fp32shim::record {

/// Version of the log's format. It grows when a key is removed or changes its meaning. It stays the same when keys or
/// codes are added.
inline constexpr int log_schema = 1;

/// Size of the longest line in bytes, including its line feed. DecisionLog may write another line feed before a line.
/// Both together have at most 4096 bytes, which is PIPE_BUF, the size of the largest atomic write to a pipe.
inline constexpr std::size_t line_limit = 4095;

/// The next three functions write an event to `out` as one JSON object and a line feed. They return the number of
/// bytes, which is at most line_limit, or 0 if `out` is too small. Long values are truncated (docs/schema.md, "Cut
/// values"). The functions are thread-safe and allocate nothing.
std::size_t format_start(const StartEvent& event, const ProcessFacts& facts, const TimeAndThread& moment,
                         std::span<char> out);
std::size_t format_decision(const DecisionEvent& event, const ProcessFacts& facts, const TimeAndThread& moment,
                            std::span<char> out);
std::size_t format_error(const ErrorEvent& event, const ProcessFacts& facts, const TimeAndThread& moment,
                         std::span<char> out);

/// Writes a decision in words to `out`, for `FP32_MATMUL_LOG=stderr`. An example is `cblas_sgemm 128x128x128 NT
/// float32 from libfoo.so -> libopenblas.so.0: high (environment) -> tf32 by rounding operands`. The caller adds
/// `fp32shim: ` and the line feed. The function writes at most 1600 bytes and returns a view of them. Thread-safe,
/// allocates nothing.
std::string_view format_decision_text(const DecisionEvent& event, std::span<char> out);

}  // namespace fp32shim::record
