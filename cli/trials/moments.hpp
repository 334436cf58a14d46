// Dates and times of day in what a run printed, and which of them the run's own clock has shown.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace fp32shim::cli {

/// The time in which a run was made, in nanoseconds since 1970, UTC.
struct RunTime {
    std::int64_t begin_ns = 0, end_ns = 0;
};

/// Sentence about moments that are left out.
constexpr std::string_view clock_text =
    "Dates and times of day that are those of the run itself, and times no longer than it took, were not compared.\n";

inline bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// Returns true if a text begins with this pattern, in which 0 stands for any digit.
bool matches(std::string_view text, std::string_view pattern);

/// Returns the length of a date or a time of day at the beginning of a text, such as 2026-11-28T09:14:03Z; 0: there
/// is none.
std::size_t length_of_moment(std::string_view text);

/// Returns true if a clock can have shown a date or a time of day during the run: in local time, in UTC, or in the
/// time zone that the text has. A clock that starts at 0 with the run is one, too. All other moments are results,
/// such as a right ascension.
bool is_moment_of_run(std::string_view moment, const RunTime& run);

}  // namespace fp32shim::cli
