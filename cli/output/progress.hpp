// Progress on a terminal, for work that takes longer than a second.
#pragma once

#include <atomic>
#include <cstddef>
#include <stop_token>
#include <string>
#include <thread>

namespace fp32shim::cli {

/// Shows one line on stderr, rewritten in place and erased at the end; nothing if stderr is no terminal. A thread
/// writes it, since one step may take seconds.
class Progress {
  public:
    explicit Progress(std::string what);
    Progress(const Progress&) = delete;
    Progress& operator=(const Progress&) = delete;

    /// Sets the numbers to show. `total` 0: unknown. Cheap enough to be called for every item.
    void show(std::size_t done, std::size_t total);

  private:
    void write(const std::stop_token& end) const;

    std::string what_;
    std::atomic<std::size_t> done_ = 0, total_ = 0;
    std::jthread writer_;  ///< last member, so that the thread ends before the other members are destroyed
};

}  // namespace fp32shim::cli
