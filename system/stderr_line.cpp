#include "system/stderr_line.hpp"

#include <errno.h>
#include <poll.h>
#include <time.h>
#include <unistd.h>

#include <iterator>

#include "system/plain_text.hpp"
#include "system/raw_syscall.hpp"
#include "system/signal_hold.hpp"
#include "system/this_process.hpp"

namespace fp32shim::system {

namespace {

iovec part(std::string_view text) { return {const_cast<char*>(text.data()), text.size()}; }

/// A line as a list of pieces for writev. Plain text stays where it is; escapes are stored in this object. The object
/// fits into a stack of 16 KB.
class EscapedLine {
  public:
    void add(std::string_view text) {
        if (!text.empty() && count_ < std::size(parts_)) parts_[count_++] = part(text);
    }

    /// Adds `text`, in which each byte of a character that is not plain is written as \xNN. Ends the text with `…`
    /// after too many escapes.
    void add_escaped(std::string_view text) {
        for (std::size_t escapes = 0; !text.empty(); ++escapes) {
            const std::size_t plain = plain_prefix_length(text);
            add(text.substr(0, plain));
            text.remove_prefix(plain);
            if (text.empty()) return;
            if (escapes == max_escapes) return add("…");
            char* const begin = escapes_ + escapes * longest_escape;
            char* end = begin;
            const std::size_t length = first_character(text).length;
            for (const char c : text.substr(0, length)) end = write_escaped_byte(static_cast<unsigned char>(c), end);
            add({begin, static_cast<std::size_t>(end - begin)});
            text.remove_prefix(length);
        }
    }

    const iovec* parts() const { return parts_; }
    int count() const { return static_cast<int>(count_); }

  private:
    static constexpr std::size_t max_escapes = 16, longest_escape = 16;
    iovec parts_[2 * max_escapes + 4];
    std::size_t count_ = 0;
    char escapes_[max_escapes * longest_escape];
};

/// Waits until standard error accepts a line, for example until a full pipe is read, however long that takes. Signal
/// handlers can run meanwhile.
void wait_for_room() {
    pollfd descriptor = {STDERR_FILENO, POLLOUT, 0};
    raw::retry_if_interrupted([&] { return raw::syscall6(SYS_ppoll, &descriptor, 1, 0, 0, 0, 0); });
}

}  // namespace

void stderr_line(std::string_view text) {
    EscapedLine line;
    line.add("fp32shim: ");
    line.add_escaped(text);
    line.add("\n");
    wait_for_room();
    const WriteSignalHold hold;
    const long result =
        raw::retry_if_interrupted([&] { return raw::writev(STDERR_FILENO, line.parts(), line.count()); });
    if (result == -EPIPE) hold.consume_pending_signal(SIGPIPE);
    if (result == -EFBIG) hold.consume_pending_signal(SIGXFSZ);
}

bool can_write_to_stderr() {
    pollfd descriptor = {STDERR_FILENO, POLLOUT, 0};
    const timespec no_time = {};
    return raw::syscall6(SYS_ppoll, &descriptor, 1, &no_time, 0, 0, 0) == 1 && (descriptor.revents & POLLOUT) != 0;
}

bool OncePerProcess::is_first_call() {
    const std::uint32_t self = fork_generation();
    return process_.exchange(self, std::memory_order_relaxed) != self;
}

}  // namespace fp32shim::system
