// Points in time, as recordings have them: nanoseconds since 1970, UTC.
#pragma once

#include <cstdint>
#include <string>

namespace fp32shim::cli {

std::int64_t now_ns();

/// `2026-11-21T08:42:00.123456789Z`
std::string timestamp(std::int64_t time_ns);
/// The same, behind `text`. Quick where times lie close together.
void append_timestamp(std::string& text, std::int64_t time_ns);

/// `08:42:00.123456`, UTC, for lines that people read one below the other.
std::string time_of_day(std::int64_t time_ns);

}  // namespace fp32shim::cli
