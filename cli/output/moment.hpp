// Converts points in time to text. They are given in nanoseconds since 1970 (UTC), as in recordings.
#pragma once

#include <cstdint>
#include <string>

namespace fp32shim::cli {

/// Returns the current time in nanoseconds since 1970 (UTC).
std::int64_t now_ns();

/// Returns a time as `2026-11-21T08:42:00.123456789Z`.
std::string timestamp(std::int64_t time_ns);
/// Appends timestamp() to `text`. Is fast if successive times lie in the same second.
void append_timestamp(std::string& text, std::int64_t time_ns);

/// Returns the time of day in UTC as `08:42:00.123456`.
std::string time_of_day(std::int64_t time_ns);

}  // namespace fp32shim::cli
