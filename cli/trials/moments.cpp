#include "cli/trials/moments.hpp"

#include <array>
#include <chrono>
#include <ctime>

namespace fp32shim::cli {
namespace {

constexpr std::int64_t day = 86'400;
constexpr std::int64_t slack_seconds = 2;  ///< seconds by which a time may be rounded or read late

/// Returns the length of a time of day at the beginning of a text, such as 09:14:03.5; 0: there is none.
std::size_t length_of_time(std::string_view text) {
    std::size_t length = matches(text, "00:00:00") ? 8 : matches(text, "0:00:00") ? 7 : 0;
    if (length == 0) return 0;
    if (matches(text.substr(length), ".0") || matches(text.substr(length), ",0"))
        while (++length < text.size() && is_digit(text[length])) continue;
    const std::string_view rest = text.substr(length);
    if (matches(rest, "+00:00") || matches(rest, "-00:00")) return length + 6;
    return length + (rest.starts_with('Z') ? 1 : 0);
}

bool is_date(std::string_view text) { return matches(text, "0000-00-00") || matches(text, "0000/00/00"); }

std::int64_t number_in(std::string_view digits) {
    std::int64_t number = 0;
    for (const char c : digits) number = 10 * number + (c - '0');
    return number;
}

/// Returns the seconds from 1970 to the beginning of a date; a time long ago if there is no such date.
std::int64_t seconds_of_date(std::string_view text) {
    const std::chrono::year_month_day date{std::chrono::year(static_cast<int>(number_in(text.substr(0, 4)))),
                                           std::chrono::month(static_cast<unsigned>(number_in(text.substr(5, 2)))),
                                           std::chrono::day(static_cast<unsigned>(number_in(text.substr(8, 2))))};
    return date.ok() ? std::chrono::sys_days(date).time_since_epoch().count() * day : -1'000'000 * day;
}

/// Returns the seconds of a time of day since midnight.
std::int64_t seconds_of_time(std::string_view text) {
    const std::size_t colon = text.find(':');
    return (number_in(text.substr(0, colon)) * 60 + number_in(text.substr(colon + 1, 2))) * 60 +
           number_in(text.substr(colon + 4, 2));
}

/// Returns the seconds by which local time is ahead of UTC.
std::int64_t local_offset(std::int64_t seconds) {
    const std::time_t time = seconds;
    std::tm local{};
    return localtime_r(&time, &local) == nullptr ? 0 : local.tm_gmtoff;
}

/// Returns a difference of two times modulo a day, from 0 on.
std::int64_t within_a_day(std::int64_t difference) { return ((difference % day) + day) % day; }

}  // namespace

bool matches(std::string_view text, std::string_view pattern) {
    if (text.size() < pattern.size()) return false;
    for (std::size_t i = 0; i < pattern.size(); ++i)
        if (pattern[i] == '0' ? !is_digit(text[i]) : text[i] != pattern[i]) return false;
    return true;
}

std::size_t length_of_moment(std::string_view text) {
    std::size_t length = is_date(text) ? 10 : length_of_time(text);
    if (length == 10 && text.substr(length).starts_with('T'))
        if (const std::size_t of_time = length_of_time(text.substr(length + 1)); of_time > 0) length += 1 + of_time;
    if (length == text.size()) return length;
    const char next = text[length];
    const bool goes_on =
        is_digit(next) || next == ':' || next == '_' || (next >= 'a' && next <= 'z') || (next >= 'A' && next <= 'Z');
    return goes_on ? 0 : length;
}

bool is_moment_of_run(std::string_view moment, const RunTime& run) {
    constexpr std::int64_t second = 1'000'000'000;
    const std::int64_t begin = run.begin_ns / second - slack_seconds, end = run.end_ns / second + slack_seconds;
    const bool has_date = is_date(moment);
    const std::string_view time = has_date ? moment.substr(moment.size() > 10 ? 11 : 10) : moment;
    std::array<std::int64_t, 2> offsets{0, local_offset(begin)};
    bool has_zone = time.ends_with('Z');
    if (has_zone) {
        offsets[1] = 0;
    } else if (const std::size_t sign = time.find_first_of("+-"); sign != std::string_view::npos) {
        has_zone = true;
        const std::int64_t minutes = number_in(time.substr(sign + 1, 2)) * 60 + number_in(time.substr(sign + 4, 2));
        offsets.fill((time[sign] == '-' ? -60 : 60) * minutes);
    }
    for (const std::int64_t offset : offsets) {
        const std::int64_t first = begin + offset, last = end + offset;  // as the clock shows them
        if (has_date) {
            const std::int64_t date = seconds_of_date(moment),
                               from = date + (time.empty() ? 0 : seconds_of_time(time));
            if (from <= last && (time.empty() ? date + day : from + 1) > first) return true;
        } else if (within_a_day(seconds_of_time(time) - first) <= last - first) {
            return true;
        }
    }
    return !has_date && !has_zone && seconds_of_time(time) <= end - begin - slack_seconds;
}

}  // namespace fp32shim::cli
