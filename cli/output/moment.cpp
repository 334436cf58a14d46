#include "cli/output/moment.hpp"

#include <fmt/format.h>

#include <chrono>
#include <ctime>

namespace fp32shim::cli {
namespace {

struct Broken {
    std::tm date{};
    std::int64_t nanoseconds = 0;
};

Broken broken_down(std::int64_t time_ns) {
    Broken result;
    std::int64_t seconds = time_ns / 1'000'000'000;
    result.nanoseconds = time_ns % 1'000'000'000;
    if (result.nanoseconds < 0) {
        result.nanoseconds += 1'000'000'000;
        --seconds;
    }
    const std::time_t time = seconds;
    gmtime_r(&time, &result.date);
    return result;
}

}  // namespace

std::int64_t now_ns() {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::system_clock::now().time_since_epoch())
        .count();
}

void append_timestamp(std::string& text, std::int64_t time_ns) {
    // All but the fraction, of the second that was asked for last.
    static std::string last;
    static std::int64_t last_second = -1;
    constexpr std::int64_t second = 1'000'000'000;
    const std::int64_t number = time_ns / second - (time_ns % second < 0 ? 1 : 0);
    const std::int64_t nanoseconds = time_ns - number * second;
    if (last.empty() || number != last_second) {
        const std::tm date = broken_down(time_ns).date;
        last = fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.", date.tm_year + 1900, date.tm_mon + 1, date.tm_mday,
                           date.tm_hour, date.tm_min, date.tm_sec);
        last_second = number;
    }
    char digits[10];
    auto rest = static_cast<std::uint32_t>(nanoseconds);
    for (int i = 8; i >= 0; --i, rest /= 10) digits[i] = static_cast<char>('0' + rest % 10);
    digits[9] = 'Z';
    text.append(last).append(digits, sizeof digits);
}

std::string timestamp(std::int64_t time_ns) {
    std::string text;
    append_timestamp(text, time_ns);
    return text;
}

std::string time_of_day(std::int64_t time_ns) {
    const auto [date, nanoseconds] = broken_down(time_ns);
    return fmt::format("{:02}:{:02}:{:02}.{:06}", date.tm_hour, date.tm_min, date.tm_sec, nanoseconds / 1000);
}

}  // namespace fp32shim::cli
