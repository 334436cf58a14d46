#include "record/lines/decision_log.hpp"

#include <string>

#include <errno.h>

#include "record/lines/event_lines.hpp"
#include "system/io_error.hpp"
#include "system/line_writer.hpp"
#include "system/raw_syscall.hpp"
#include "system/signal_hold.hpp"
#include "system/this_process.hpp"

namespace fp32shim::record {

namespace {

// Returns the buffer without its first byte, in which write_buffer() can put a line feed to end an incomplete line.
std::span<char> line_in(LogBuffer buffer) { return buffer.subspan<1>(); }
static_assert(log_buffer_size == 1 + line_limit);

int open_uninterrupted(const char* path, int flags, std::uint32_t mode) {
    return system::raw::retry_if_interrupted([&] { return system::raw::open(path, flags, mode); });
}

/// Returns true if the open file belongs to this user or to root. In a folder like /tmp, another user may have
/// created the file in order to read the log.
bool is_own_or_roots(int descriptor) {
    struct stat status {};
    if (system::raw::fstat(descriptor, status) < 0) return false;
    return status.st_uid == 0 || status.st_uid == static_cast<uid_t>(system::raw::syscall6(SYS_geteuid));
}

}  // namespace

DecisionLog::~DecisionLog() {
    if (descriptor_.is_own_file()) system::raw::close(descriptor_.number());
}

std::string DecisionLog::open(std::string_view name, const ProcessFacts& facts, const StartEvent& start,
                              LogBuffer buffer, std::uint32_t mode, const StartEvent& (*in_force)()) {
    facts_ = facts;
    facts_.pid = system::raw::getpid();  // `facts` may have been gathered before a fork
    start_ = start;
    in_force_ = in_force;
    mode_ = mode;
    const std::string_view absolute = make_absolute_name(name, name_, buffer);
    const ExpandedPath expanded =
        absolute.empty() ? ExpandedPath{{}, PathProblem::too_long, 0} : expand_path(absolute, facts_, path_);
    if (expanded.problem != PathProblem::none)
        return "log " + std::string(name) + ": " + describe_path_problem(expanded);
    if (const int error = open_file(); error != 0) {
        const system::IoError description = system::describe_io_error(error);
        return "log " + std::string(expanded.path) + ": " + std::string(description.meaning) +
               "; nothing is logged; " + std::string(description.remedy);
    }
    owner_.store(system::fork_generation(), std::memory_order_release);
    handle_write_result(
        write_buffer(buffer, format_start(start_, facts_, current_time_and_thread(), line_in(buffer))), buffer);
    return {};
}

void DecisionLog::write(const DecisionEvent& event, LogBuffer buffer) {
    write_line([&] { return format_decision(event, facts_, current_time_and_thread(), line_in(buffer)); }, buffer);
}

void DecisionLog::write(const ErrorEvent& event, LogBuffer buffer) {
    write_line([&] { return format_error(event, facts_, current_time_and_thread(), line_in(buffer)); }, buffer);
}

template <class Format>
void DecisionLog::write_line(Format format, LogBuffer buffer) {
    const std::uint32_t owner = owner_.load(std::memory_order_acquire);
    if (owner == 0) return;
    const bool in_child = owner != system::fork_generation();
    if (in_child ? !recover(buffer) : gave_up_.load(std::memory_order_relaxed)) {
        dropped_.fetch_add(1, std::memory_order_relaxed);
        return;
    }
    int error = write_buffer(buffer, format());
    // recover() may have overwritten the buffer, so the line is formatted again.
    if (error == EBADF && recover(buffer)) error = write_buffer(buffer, format());
    handle_write_result(error, buffer);
}

/// Makes the log usable in a forked child, or after the program closed its descriptor. Returns false on failure.
bool DecisionLog::recover(LogBuffer buffer) {
    const system::HeldLock held(lock_);
    if (!held) return false;
    if (owner_.load(std::memory_order_acquire) != system::fork_generation()) return begin_in_child(buffer);
    if (gave_up_.load(std::memory_order_relaxed)) return false;
    if (descriptor_.is_own_file()) return true;  // another thread has already recovered the log
    const int error = reopened_.exchange(true, std::memory_order_relaxed) ? EBADF : open_file();
    if (error != 0) stop_logging(error, buffer);
    return error == 0;
}

/// Opens the log for a forked child and writes the child's `start` event. Returns false if the log could not be
/// opened. The caller must hold `lock_`.
bool DecisionLog::begin_in_child(LogBuffer buffer) {
    facts_.forked_from = facts_.pid;
    dropped_.store(0, std::memory_order_relaxed);
    reopened_.store(false, std::memory_order_relaxed);
    gave_up_.store(false, std::memory_order_relaxed);
    facts_.pid = system::raw::getpid();

    int error = 0;
    if (has_placeholder(name_, 'p')) {
        if (descriptor_.is_own_file()) system::raw::close(descriptor_.number());
        torn_.store(false, std::memory_order_relaxed);
        error = expand_path(name_, facts_, path_).problem == PathProblem::none ? open_file() : ENAMETOOLONG;
    } else if (!descriptor_.is_own_file()) {
        error = open_file();
    }
    if (error != 0) {
        stop_logging(error, buffer);
    } else {
        const StartEvent& start = in_force_ != nullptr ? in_force_() : start_;
        handle_write_result(
            write_buffer(buffer, format_start(start, facts_, current_time_and_thread(), line_in(buffer))), buffer);
    }
    owner_.store(system::fork_generation(), std::memory_order_release);
    return error == 0;
}

/// Opens the log's file, `path_`. Returns 0 or an errno.
int DecisionLog::open_file() {
    // With O_NONBLOCK, opening a pipe that has no reader fails at once instead of waiting.
    constexpr int flags = O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
    // With O_EXCL, open() follows no link and fails for an existing file. So the mode is set only for a file that
    // this call creates.
    int descriptor = open_uninterrupted(path_, flags | O_EXCL, mode_);
    if (descriptor >= 0) {
        system::raw::fchmod(descriptor, mode_);
    } else if (descriptor == -EEXIST) {
        descriptor = open_uninterrupted(path_, flags | O_NOFOLLOW, mode_);
        if (descriptor >= 0 && !is_own_or_roots(descriptor)) {
            system::raw::close(descriptor);
            return system::foreign_file;
        }
    }
    if (descriptor < 0) return -descriptor;
    return descriptor_.keep(descriptor);
}

/// Writes the line of `size` bytes that begins at buffer[1]. If the line before was written only in part, also writes
/// a line feed, buffer[0], that ends the incomplete line. Returns 0 or an errno. EBADF means that the program has
/// closed or replaced the log's descriptor.
int DecisionLog::write_buffer(LogBuffer buffer, std::size_t size) {
    const int descriptor = descriptor_.number();
    if (!descriptor_.is_own_file(descriptor)) return EBADF;
    const bool after_torn = torn_.exchange(false, std::memory_order_relaxed);
    buffer[0] = '\n';
    const std::size_t begin = after_torn ? 0 : 1;
    const std::size_t end = 1 + size;

    const system::WriteSignalHold hold;
    std::size_t position = begin;
    while (position < end) {
        const long result = system::raw::retry_if_interrupted(
            [&] { return system::raw::write(descriptor, buffer.data() + position, end - position); });
        if (result > 0) {
            // If the kernel wrote only a part, the loop writes the rest, or gets the reason as an error.
            position += static_cast<std::size_t>(result);
            continue;
        }
        if (result == -EPIPE) hold.consume_pending_signal(SIGPIPE);
        if (result == -EFBIG) hold.consume_pending_signal(SIGXFSZ);
        const bool nothing_written = position == begin;
        torn_.store(nothing_written ? after_torn : position > 1, std::memory_order_relaxed);
        return result == 0 ? EIO : static_cast<int>(-result);
    }
    return 0;
}

/// Handles `error`, a result of write_buffer(). If `error` is an errno, counts a lost line. If `error` is 0 and lines
/// were lost before, writes an event that reports how many.
void DecisionLog::handle_write_result(int error, LogBuffer buffer) {
    if (error != 0) {
        dropped_.fetch_add(1, std::memory_order_relaxed);
        warn_once(error, "lines are lost until it can be written again", buffer);
        return;
    }
    if (dropped_.load(std::memory_order_relaxed) == 0) return;
    const std::int64_t dropped = dropped_.exchange(0, std::memory_order_relaxed);
    if (dropped == 0) return;  // another thread is reporting the lost lines
    ErrorEvent event;
    event.code = ErrorCode::lines_dropped;
    event.detail = "this many lines before this one could not be written";
    event.dropped = dropped;
    if (write_buffer(buffer, format_error(event, facts_, current_time_and_thread(), line_in(buffer))) != 0)
        dropped_.fetch_add(dropped, std::memory_order_relaxed);
}

void DecisionLog::stop_logging(int error, LogBuffer buffer) {
    gave_up_.store(true, std::memory_order_relaxed);
    warn_once(error, "this process logs nothing more", buffer);
}

void DecisionLog::warn_once(int error, std::string_view consequence, LogBuffer buffer) {
    if (!warning_.is_first_call()) return;
    const system::IoError description = system::describe_io_error(error);
    system::LineWriter out(buffer);
    out.text("log ").escaped(path_, 2048).text(": ").text(description.meaning);
    if (description.meaning.find('(') == std::string_view::npos) out.text(" (errno ").number(error).text(")");
    out.text("; ").text(consequence).text("; ").text(description.remedy);
    system::stderr_line(out.view());
}

}  // namespace fp32shim::record
