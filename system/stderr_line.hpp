// Writes the messages of the shim for people. Each message is a single line on standard error.
#pragma once

#include <atomic>
#include <cstdint>
#include <string_view>

namespace fp32shim::system {

/// Writes `fp32shim: TEXT` and a line feed to descriptor 2 in one system call, so that lines of several threads and
/// processes do not mix. TEXT may contain names from anywhere: characters that are not plain (system/plain_text.hpp)
/// are written as \xNN. Ignores errors, and leaves errno and pending signals unchanged. Thread-safe, allocates
/// nothing. Blocks on a full pipe, as a line of the program itself would.
void stderr_line(std::string_view text);

/// Returns true if stderr_line() would not block now. Async-signal-safe.
bool can_write_to_stderr();

/// Lets each process print a line only once; a forked child counts as another process. Usage: `static constinit
/// OncePerProcess said; if (said.is_first_call()) …`.
class OncePerProcess {
  public:
    /// Returns true to the first caller in each process. Thread-safe.
    bool is_first_call();

  private:
    // fork_generation() of the process that most recently called is_first_call()
    std::atomic<std::uint32_t> process_{0};
};

}  // namespace fp32shim::system
