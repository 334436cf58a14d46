// Messages of the shim to people: single lines on standard error.
#pragma once

#include <atomic>
#include <cstdint>
#include <string_view>

namespace fp32shim::system {

/// Writes `fp32shim: TEXT` and a line feed to descriptor 2 in one system call, so that lines of several threads and
/// processes do not mix. Names in TEXT may come from anywhere: characters that are not plain (system/plain_text.hpp)
/// are written as \xNN. Errors are ignored, errno and pending signals stay as they are. Thread-safe, allocates
/// nothing; blocks on a full pipe, as any program's own line would.
void stderr_line(std::string_view text);

/// Returns true if stderr_line() would not wait now. Async-signal-safe.
bool can_write_to_stderr();

/// Lets each process, forked children too, say a line once: `static constinit OncePerProcess said; if (said.first())
/// …`.
class OncePerProcess {
  public:
    /// Returns true to the first caller in each process. Thread-safe.
    bool first();

  private:
    std::atomic<std::uint32_t> process_{0};  // this_process()
};

}  // namespace fp32shim::system
