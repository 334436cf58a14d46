#include "cli/progress.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>

namespace fp32shim::cli {

using std::chrono::steady_clock;

Progress::Progress(std::string what)
    : what_(std::move(what)),
      is_wanted_(isatty(STDERR_FILENO) == 1),
      next_(steady_clock::now() + std::chrono::seconds(1)) {}

Progress::~Progress() {
    if (is_shown_) std::fputs("\r\033[K", stderr);
}

void Progress::show(std::size_t done, std::size_t total) {
    if (!is_wanted_ || steady_clock::now() < next_) return;
    next_ = steady_clock::now() + std::chrono::milliseconds(100);
    is_shown_ = true;
    const std::string line = fmt::format("\r{}: {} of {}\033[K", what_, done, total);
    std::fputs(line.c_str(), stderr);
    std::fflush(stderr);
}

}  // namespace fp32shim::cli
