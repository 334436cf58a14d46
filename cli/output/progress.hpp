// Shows progress on a terminal, for work that takes longer than a second.
#pragma once

#include <atomic>
#include <cstddef>
#include <stop_token>
#include <string>
#include <thread>

namespace fp32shim::cli {

/// Shows one line on stderr that is rewritten in place and erased at the end. Shows nothing if stderr is not a
/// terminal. A second thread writes the line, because a single step of the work may take seconds.
class Progress {
  public:
    explicit Progress(std::string what);
    Progress(const Progress&) = delete;
    Progress& operator=(const Progress&) = delete;

    /// Sets the numbers to show. A `total` of 0 means that the total is unknown. Is cheap, so it may be called for
    /// every item.
    void show(std::size_t done, std::size_t total);

  private:
    void write_until(const std::stop_token& end) const;

    std::string what_;
    std::atomic<std::size_t> done_ = 0, total_ = 0;
    std::jthread writer_;  ///< the last member, so that the thread ends before the other members are destroyed
};

}  // namespace fp32shim::cli
