#include "cli/output/progress.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string_view>
#include <system_error>
#include <utility>

namespace fp32shim::cli {
namespace {

/// Writes a line to stderr immediately and without a lock, because the main thread may be writing at the same time.
void write_line(std::string_view line) {
    [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, line.data(), line.size());
}

}  // namespace

Progress::Progress(std::string what) : what_(std::move(what)) {
    if (isatty(STDERR_FILENO) != 1) return;
    try {
        writer_ = std::jthread([this](const std::stop_token& end) { write_until(end); });
    } catch (const std::system_error&) {  // without a thread, no progress is shown
    }
}

void Progress::show(std::size_t done, std::size_t total) {
    done_.store(done, std::memory_order_relaxed);
    total_.store(total, std::memory_order_relaxed);
}

void Progress::write_until(const std::stop_token& end) const {
    std::mutex mutex;
    std::condition_variable_any ended;
    std::unique_lock lock(mutex);
    const auto end_comes_within = [&](std::chrono::milliseconds time) {
        ended.wait_for(lock, end, time, [] { return false; });
        return end.stop_requested();
    };
    if (end_comes_within(std::chrono::seconds(1))) return;
    do {
        const std::size_t total = total_.load(std::memory_order_relaxed);
        write_line(fmt::format("\r{}: {}{}\033[K", what_, done_.load(std::memory_order_relaxed),
                               total == 0 ? "" : fmt::format(" of {}", total)));
    } while (!end_comes_within(std::chrono::milliseconds(100)));
    write_line("\r\033[K");
}

}  // namespace fp32shim::cli
