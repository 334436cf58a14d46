// Last step of a call if `FP32_MATMUL_LOG` names a `.jsonl` file: each event becomes one line, in one write.
//
// The log runs inside other people's programs. So it makes raw system calls only, leaves errno alone, and holds
// SIGPIPE and SIGXFSZ back. Once open, it allocates nothing and needs no large stack frame. It writes only to its own
// descriptor: the program may have closed that, and its number may now belong to another file.
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

/// Size of the buffer in which DecisionLog composes a line. The caller passes a buffer to each call. The buffer lies
/// on the heap or in thread-local memory, since threads may have only 16 KB of stack.
inline constexpr std::size_t log_buffer_size = 4096;
using LogBuffer = std::span<char, log_buffer_size>;

/// An open log. Make one on the heap and keep it: threads may write until the process ends.
///
/// The file is opened with O_APPEND, so that several processes may share it, and is never truncated. Only its owner
/// can read a new file, unless open() gets another `mode`. Symbolic links are refused, and so are files of users
/// other than this one and root. Writes never wait for a reader: lines that a full pipe does not take are dropped.
class DecisionLog {
  public:
    DecisionLog() = default;
    /// Closes the file, unless the program has already closed its descriptor. No other thread may use the log any
    /// more.
    ~DecisionLog();
    DecisionLog(const DecisionLog&) = delete;
    DecisionLog& operator=(const DecisionLog&) = delete;

    /// Expands `name` (log_path.hpp), opens the file and writes the `start` event. A new file gets exactly the
    /// permission bits `mode`, whatever the umask; an existing file keeps its own. A forked child takes its `start`
    /// event from `in_force`, since a reload may have changed the settings; without `in_force` it repeats `start`.
    /// Returns an empty string, or a one-line error with a remedy. After an error the log stays closed, and writing
    /// to it does nothing. Call once, before any other thread knows the log. Allocates.
    std::string open(std::string_view name, const ProcessFacts& facts, const StartEvent& start, LogBuffer buffer,
                     std::uint32_t mode = 0600, const StartEvent& (*in_force)() = nullptr);

    /// Writes one line. In a forked child the first call also writes the child's own `start` event: into the child's
    /// own file if the name has `%p`, else into the shared file. A line that cannot be written is counted. The first
    /// failure of a process is reported on stderr. When a line succeeds again, an `error` event says how many were
    /// lost. Thread-safe, also after fork. A signal handler needs a buffer of its own.
    void write(const DecisionEvent& event, LogBuffer buffer);
    void write(const ErrorEvent& event, LogBuffer buffer);

    bool is_open() const { return owner_.load(std::memory_order_relaxed) != 0; }
    /// Returns the number of lost lines of this process that are not yet reported in the file.
    std::int64_t unreported_lost_lines() const { return dropped_.load(std::memory_order_relaxed); }

  private:
    template <class Format>
    void write_line(Format format, LogBuffer buffer);
    bool recover(LogBuffer buffer);
    bool begin_in_child(LogBuffer buffer);
    int open_file();
    int write_buffer(LogBuffer buffer, std::size_t size);
    void handle_write_result(int error, LogBuffer buffer);
    void stop_logging(int error, LogBuffer buffer);
    void warn_once(int error, std::string_view consequence, LogBuffer buffer);

    // fork_generation() of the process that owns the members below; 0 until open() succeeds. A forked child stores
    // its own value here after it has made the other members its own.
    std::atomic<std::uint32_t> owner_{0};
    system::OwnDescriptor descriptor_;   // recover() checks it again, under the lock
    std::atomic<bool> reopened_{false};  // reopens once per process only: a program that keeps closing the log is
                                         // left alone
    std::atomic<bool> gave_up_{false};
    std::atomic<bool> torn_{false};  // the file ends in an incomplete line, so the next write begins with a line feed
    std::atomic<std::int64_t> dropped_{0};
    system::OncePerProcess warning_;
    system::ForkSafeLock lock_;

    // After open() only begin_in_child() changes path_, facts_.pid and facts_.forked_from, under the lock and before
    // `owner_` names the child. Only expand_path() uses facts_.pid: for lines, the kernel tells the process id.
    char name_[path_capacity] = {};  // the absolute name, with placeholders
    char path_[path_capacity] = {};  // the name after replacing its placeholders, for the process `owner_`
    ProcessFacts facts_;
    StartEvent start_;
    const StartEvent& (*in_force_)() = nullptr;
    std::uint32_t mode_ = 0600;
};

}  // namespace fp32shim::record
