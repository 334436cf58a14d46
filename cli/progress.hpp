// What a command says on a terminal while it works for longer than a second.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>

namespace fp32shim::cli {

/// One line on stderr, rewritten in place and wiped at the end; nothing where stderr is no terminal.
class Progress {
  public:
    explicit Progress(std::string what);
    ~Progress();
    Progress(const Progress&) = delete;
    Progress& operator=(const Progress&) = delete;

    /// `done` of `total`; cheap enough to be called for every item.
    void show(std::size_t done, std::size_t total);

  private:
    std::string what_;
    bool is_wanted_;
    bool is_shown_ = false;
    std::chrono::steady_clock::time_point next_;
};

}  // namespace fp32shim::cli
