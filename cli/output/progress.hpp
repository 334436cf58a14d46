// What a command says on a terminal while it works for longer than a second.
#pragma once

#include <atomic>
#include <cstddef>
#include <stop_token>
#include <string>
#include <thread>

namespace fp32shim::cli {

/// One line on stderr, rewritten in place and wiped at the end; nothing where stderr is no terminal. A thread of its
/// own writes it, since a single large recording takes seconds, too.
class Progress {
  public:
    explicit Progress(std::string what);
    Progress(const Progress&) = delete;
    Progress& operator=(const Progress&) = delete;

    /// `done` of `total`, 0: nobody knows; cheap enough to be called for every item.
    void show(std::size_t done, std::size_t total);

  private:
    void write(const std::stop_token& end) const;

    std::string what_;
    std::atomic<std::size_t> done_ = 0, total_ = 0;
    std::jthread writer_;  ///< the last member: it ends before the others do
};

}  // namespace fp32shim::cli
