// The last step of a call, where `FP32_MATMUL_LOG` names a `.jsonl` file: one line per event, in one write.
//
// It runs inside other people's programs. So: raw system calls only, errno untouched, no allocation and no large
// stack frame once open; SIGPIPE and SIGXFSZ held back; nothing is ever written to a descriptor that is not ours,
// also where the program closed ours and its number now belongs to something else.
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

/// What every call below needs from its caller: this many bytes, for the length of the call, on the heap or in
/// thread-local memory (threads may have 16 KB of stack).
inline constexpr std::size_t log_buffer_size = 4096;
using LogBuffer = std::span<char, log_buffer_size>;

/// An open log. Make one on the heap and keep it: threads may write until the process ends.
///
/// The file is opened with O_APPEND, so that several processes may share it, and never truncated; a new one is
/// private unless open() is told otherwise. A symbolic link in its place is refused, and so is a file of another user
/// who is not root. Writes never wait for a reader: what a full pipe does not take is dropped.
class DecisionLog {
  public:
    DecisionLog() = default;
    /// Closes the file, if the descriptor is still ours. No other thread may use the log any more.
    ~DecisionLog();
    DecisionLog(const DecisionLog&) = delete;
    DecisionLog& operator=(const DecisionLog&) = delete;

    /// Expands `name` (log_path.hpp), opens the file and writes the `start` event. A file that is made gets exactly
    /// the permission bits `mode`, whatever the umask; one that exists keeps its own. `in_force` is asked by a forked
    /// child for its `start` event, since a reload may have changed the settings; without it, that is `start` again.
    /// Returns an empty string, or one line that says what is wrong and what to do; the log then stays closed, and
    /// writing to it does nothing. Once per log, before any other thread knows it. Allocates.
    std::string open(std::string_view name, const ProcessFacts& facts, const StartEvent& start, LogBuffer buffer,
                     std::uint32_t mode = 0600, const StartEvent& (*in_force)() = nullptr);

    /// Writes one line. In a forked child the first call also writes the child's own `start` event: into its own file
    /// where the name has `%p`, else into the shared one. A line that cannot be written is counted; the first failure
    /// in a process is said on stderr, and once a line succeeds again an `error` event says how many were lost.
    /// Thread-safe, also after fork; a signal handler needs a buffer of its own.
    void write(const DecisionEvent& event, LogBuffer buffer);
    void write(const ErrorEvent& event, LogBuffer buffer);

    bool is_open() const { return owner_.load(std::memory_order_relaxed) != 0; }
    /// Lines of this process that were lost and are not yet reported in the file.
    std::int64_t dropped() const { return dropped_.load(std::memory_order_relaxed); }

  private:
    template <class Format>
    void write_line(Format format, LogBuffer buffer);
    bool recover(LogBuffer buffer);
    bool enter_child(LogBuffer buffer);
    int open_file();
    int put(LogBuffer buffer, std::size_t size);
    void settle(int error, LogBuffer buffer);
    void give_up(int error, LogBuffer buffer);
    void complain(int error, std::string_view consequence, LogBuffer buffer);

    // this_process() that the state below belongs to; 0 until open() succeeds. Stored last when a child has taken
    // over.
    std::atomic<std::uint32_t> owner_{0};
    system::OwnDescriptor
        descriptor_;  // what is written between two files is looked at again by recover(), under the lock
    std::atomic<bool> reopened_{false};  // once per process: a program that keeps closing it does not want it
    std::atomic<bool> gave_up_{false};
    std::atomic<bool> torn_{false};  // the file ends in a piece of our line: the next one begins with a line feed
    std::atomic<std::int64_t> dropped_{0};
    system::OncePerProcess complained_;
    system::ForkSafeLock lock_;

    // After open() only enter_child() changes these, under the lock and before `owner_` names the child: path_,
    // facts_.pid (for expand_path: lines take their process id from the kernel) and facts_.forked_from.
    char name_[path_capacity] = {};  // absolute, placeholders not yet expanded
    char path_[path_capacity] = {};  // expanded for `owner_`
    ProcessFacts facts_;
    StartEvent start_;
    const StartEvent& (*in_force_)() = nullptr;
    std::uint32_t mode_ = 0600;
};

}  // namespace fp32shim::record
