#include "cli/output/moment.hpp"

#include <fmt/chrono.h>
#include <fmt/compile.h>

#include <chrono>
#include <ctime>
#include <iterator>

namespace fp32shim::cli {
namespace {

using Nanoseconds = std::chrono::nanoseconds;

std::chrono::sys_seconds second_of(std::int64_t time_ns) {
    return std::chrono::floor<std::chrono::seconds>(std::chrono::sys_time<Nanoseconds>(Nanoseconds(time_ns)));
}

std::int64_t fraction_of(std::int64_t time_ns) {
    return time_ns - Nanoseconds(second_of(time_ns).time_since_epoch()).count();
}

std::tm date_of(std::int64_t time_ns) { return fmt::gmtime(second_of(time_ns).time_since_epoch().count()); }

}  // namespace

std::int64_t now_ns() { return Nanoseconds(std::chrono::system_clock::now().time_since_epoch()).count(); }

void append_timestamp(std::string& text, std::int64_t time_ns) {
    // The text of the most recent second is kept, because successive times often lie in the same second.
    static std::string last;
    static std::int64_t last_second = 0;
    const std::int64_t second = second_of(time_ns).time_since_epoch().count();
    if (last.empty() || second != last_second) {
        last = fmt::format("{:%Y-%m-%dT%H:%M:%S}.", date_of(time_ns));
        last_second = second;
    }
    fmt::format_to(std::back_inserter(text), FMT_COMPILE("{}{:09}Z"), last, fraction_of(time_ns));
}

std::string timestamp(std::int64_t time_ns) {
    std::string text;
    append_timestamp(text, time_ns);
    return text;
}

std::string time_of_day(std::int64_t time_ns) {
    return fmt::format("{:%H:%M:%S}.{:06}", date_of(time_ns), fraction_of(time_ns) / 1000);
}

}  // namespace fp32shim::cli
