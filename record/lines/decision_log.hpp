// Writes a decision log, if `FP32_MATMUL_LOG` names a `.jsonl` file. Each event becomes one line, which is written in
// one call of write().
//
// The log runs inside other people's programs. So it makes raw system calls only, leaves errno alone, and keeps
// SIGPIPE and SIGXFSZ from the program. An open log allocates nothing and needs no large stack frame. Before each
// write, the log checks that its descriptor still refers to its own file, because the program may have closed the
// descriptor and its number may now belong to another file.
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

/// Size of the buffer in which DecisionLog composes a line. The caller passes a buffer to each call. The buffer
/// should be on the heap or in thread-local memory, because a thread may have only 16 KB of stack.
inline constexpr std::size_t log_buffer_size = 4096;
using LogBuffer = std::span<char, log_buffer_size>;

/// A decision log. The object should be on the heap and never be destroyed, because threads may write to the log
/// until the process ends.
///
/// The file is opened with O_APPEND, so that several processes may share it, and is never truncated. Only its owner
/// can read a new file, unless open() gets another `mode`. Symbolic links are refused, and so are files that belong
/// neither to this user nor to root. Writes never wait for a reader, and lines for which a full pipe has no space are
/// dropped.
class DecisionLog {
  public:
    DecisionLog() = default;
    /// Closes the file, unless the program has already closed its descriptor. No other thread may use the log any
    /// more.
    ~DecisionLog();
    DecisionLog(const DecisionLog&) = delete;
    DecisionLog& operator=(const DecisionLog&) = delete;

    /// Expands `name` (log_path.hpp), opens the file and writes the `start` event. A new file gets exactly the
    /// permission bits `mode`, whatever the umask; an existing file keeps its own. A forked child writes the
    /// `start` event that `in_force` returns, because a reload may have changed the settings; if `in_force` is
    /// nullptr, the child writes `start` again. Returns an empty string on success, and otherwise an error of one
    /// line with a remedy. After an error the log stays closed, and writing to it does nothing. Must be called once,
    /// before another thread uses the log. Allocates memory.
    std::string open(std::string_view name, const ProcessFacts& facts, const StartEvent& start, LogBuffer buffer,
                     std::uint32_t mode = 0600, const StartEvent& (*in_force)() = nullptr);

    /// Writes one line. In a forked child, the first call also writes the child's own `start` event. A child writes
    /// to a file of its own if the log's name has `%p`, and otherwise to its parent's file. A line that cannot be
    /// written is counted. The first failure of a process is reported on stderr. When a line can be written again, an
    /// `error` event says how many lines were lost. Thread-safe, also after fork. A signal handler must pass a buffer
    /// of its own.
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

    // The fork_generation() of the process for which the other members are valid; 0 until open() succeeds. A forked
    // child stores its own fork_generation() here after it has changed the other members for itself.
    std::atomic<std::uint32_t> owner_{0};
    // Before recover() reopens the file, it takes `lock_` and checks that no other thread has already reopened it.
    system::OwnDescriptor descriptor_;
    std::atomic<bool> reopened_{false};  // the log has been reopened; this happens only once per process, in case the
                                         // program keeps closing it
    std::atomic<bool> gave_up_{false};
    std::atomic<bool> torn_{false};  // the file ends in an incomplete line, so the next write begins with a line feed
    std::atomic<std::int64_t> dropped_{0};
    system::OncePerProcess warning_;
    system::ForkSafeLock lock_;

    // After open(), only begin_in_child() changes path_, facts_.pid and facts_.forked_from, while it holds `lock_`.
    // It stores `owner_` afterwards. Only expand_path() uses facts_.pid, because lines get the process id from the
    // kernel.
    char name_[path_capacity] = {};  // the absolute path with its placeholders
    char path_[path_capacity] = {};  // the path in which placeholders are replaced for the process `owner_`
    ProcessFacts facts_;
    StartEvent start_;
    const StartEvent& (*in_force_)() = nullptr;
    std::uint32_t mode_ = 0600;
};

}  // namespace fp32shim::record
