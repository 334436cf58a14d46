#include "cli/moment.hpp"

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

std::string timestamp(std::int64_t time_ns) {
    const auto [date, nanoseconds] = broken_down(time_ns);
    return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:09}Z", date.tm_year + 1900, date.tm_mon + 1,
                       date.tm_mday, date.tm_hour, date.tm_min, date.tm_sec, nanoseconds);
}

std::string time_of_day(std::int64_t time_ns) {
    const auto [date, nanoseconds] = broken_down(time_ns);
    return fmt::format("{:02}:{:02}:{:02}.{:06}", date.tm_hour, date.tm_min, date.tm_sec, nanoseconds / 1000);
}

}  // namespace fp32shim::cli
