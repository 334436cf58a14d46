// Last step of a call if `FP32_MATMUL_LOG` names a `.jsonl` file: one line per event, in one write.
//
// The log runs inside other people's programs. So it makes raw system calls only, leaves errno alone, allocates
// nothing and needs no large stack frame once open, and holds SIGPIPE and SIGXFSZ back. It never writes to a
// descriptor that is not its own, not even if the program closed the log's and its number now belongs to something
// else.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "record/events.hpp"
#include "record/log_path.hpp"
#include "record/process_facts.hpp"
#include "system/fork_safe_lock.hpp"
#include "system/own_descriptor.hpp"
#include "system/stderr_line.hpp"

namespace fp32shim::record {

/// Size of the buffer in which DecisionLog composes a line. Its caller passes one to each call, on the heap or in
/// thread-local memory, since threads may have only 16 KB of stack.
inline constexpr std::size_t log_buffer_size = 4096;
using LogBuffer = std::span<char, log_buffer_size>;

/// An open log. Make one on the heap and keep it: threads may write until the process ends.
///
/// The file is opened with O_APPEND, so that several processes may share it, and never truncated. Only its owner
/// can read a new file, unless open() gets another `mode`. Refused are symbolic links, and files of users other than
/// this one and root. Writes never wait for a reader: what a full pipe does not take is dropped.
class DecisionLog {
  public:
    DecisionLog() = default;
    /// Closes the file, unless the program has closed its descriptor. No other thread may use the log any more.
    ~DecisionLog();
    DecisionLog(const DecisionLog&) = delete;
    DecisionLog& operator=(const DecisionLog&) = delete;

    /// Expands `name` (log_path.hpp), opens the file and writes the `start` event. A new file gets exactly the
    /// permission bits `mode`, whatever the umask; an existing one keeps its own. A forked child takes its `start`
    /// event from `in_force`, since a reload may have changed the settings; without `in_force` it repeats `start`.
    /// Returns an empty string, or one line that says what is wrong and what to do: then the log stays closed, and
    /// writing to it does nothing. Call once, before any other thread knows the log. Allocates.
    std::string open(std::string_view name, const ProcessFacts& facts, const StartEvent& start, LogBuffer buffer,
                     std::uint32_t mode = 0600, const StartEvent& (*in_force)() = nullptr);

    /// Writes one line. In a forked child the first call also writes the child's own `start` event: into its own file
    /// if the name has `%p`, else into the shared one. A line that cannot be written is counted. The first failure of
    /// a process is said on stderr; when a line succeeds again, an `error` event says how many were lost.
    /// Thread-safe, also after fork; a signal handler needs a buffer of its own.
    void write(const DecisionEvent& event, LogBuffer buffer);
    void write(const ErrorEvent& event, LogBuffer buffer);

    bool is_open() const { return owner_.load(std::memory_order_relaxed) != 0; }
    /// Returns how many lines of this process were lost and are not yet reported in the file.
    std::int64_t dropped() const { return dropped_.load(std::memory_order_relaxed); }

  private:
    template <class Format>
    void write_line(Format format, LogBuffer buffer);
    bool recover(LogBuffer buffer);
    bool enter_child(LogBuffer buffer);
    int open_file();
    int put(LogBuffer buffer, std::size_t size);
    void handle_result(int error, LogBuffer buffer);
    void stop_logging(int error, LogBuffer buffer);
    void warn_once(int error, std::string_view consequence, LogBuffer buffer);

    // this_process() of the owner of the state below; 0 until open() succeeds. A child that takes over stores it
    // last.
    std::atomic<std::uint32_t> owner_{0};
    system::OwnDescriptor descriptor_;   // recover() looks at it again, under the lock
    std::atomic<bool> reopened_{false};  // once per process is enough for a program that keeps closing the log
    std::atomic<bool> gave_up_{false};
    std::atomic<bool> torn_{false};  // the file ends in a piece of a line: the next line begins with a line feed
    std::atomic<std::int64_t> dropped_{0};
    system::OncePerProcess complained_;
    system::ForkSafeLock lock_;

    // After open() only enter_child() changes path_, facts_.pid and facts_.forked_from, under the lock and before
    // `owner_` names the child. Only expand_path() needs facts_.pid: lines take the process id from the kernel.
    char name_[path_capacity] = {};  // absolute, placeholders not yet expanded
    char path_[path_capacity] = {};  // expanded for `owner_`
    ProcessFacts facts_;
    StartEvent start_;
    const StartEvent& (*in_force_)() = nullptr;
    std::uint32_t mode_ = 0600;
};

}  // namespace fp32shim::record
