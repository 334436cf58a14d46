#include "cli/binaries/worker_process.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <utility>

namespace fp32shim::cli {
namespace {

constexpr std::uint32_t size_limit = 64 << 20;

/// Sends the size of a message and then its content as CBOR. Returns false if the other process is gone.
bool send_message(int socket, const Message& message) {
    std::string text(sizeof(std::uint32_t), '\0');
    Message::to_cbor(message, text);
    const auto size = static_cast<std::uint32_t>(text.size() - sizeof(std::uint32_t));
    std::memcpy(text.data(), &size, sizeof size);
    for (std::string_view rest = text; !rest.empty();) {
        const ssize_t sent = send(socket, rest.data(), rest.size(), MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR) continue;
        if (sent <= 0) return false;
        rest.remove_prefix(static_cast<std::size_t>(sent));
    }
    return true;
}

bool receive_bytes(int socket, char* to, std::size_t size) {
    while (size > 0) {
        const ssize_t got = read(socket, to, size);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return false;
        to += got;
        size -= static_cast<std::size_t>(got);
    }
    return true;
}

/// Waits for a message. Returns nullopt if the other process is gone or sent something that is not a message.
std::optional<Message> receive_message(int socket) {
    std::uint32_t size = 0;
    if (!receive_bytes(socket, reinterpret_cast<char*>(&size), sizeof size) || size > size_limit) return std::nullopt;
    std::string text(size, '\0');
    if (!receive_bytes(socket, text.data(), size)) return std::nullopt;
    Message message = Message::from_cbor(text, true, false);
    return message.is_discarded() ? std::nullopt : std::optional(std::move(message));
}

/// Restricts this process, so that faulty code in it can do no harm except ending the process. Limits the data of the
/// process to `memory` bytes.
void restrict_process(std::uint64_t memory) {
    for (const int signal_number : {SIGALRM, SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE})
        signal(signal_number, SIG_DFL);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, nullptr);
    const rlimit no_core{0, 0};  // prevents a core file in the user's folder
    setrlimit(RLIMIT_CORE, &no_core);
    rlimit data{};
    if (getrlimit(RLIMIT_DATA, &data) == 0 && data.rlim_cur > memory) {
        data.rlim_cur = memory;
        setrlimit(RLIMIT_DATA, &data);
    }
    const int nowhere = open("/dev/null", O_RDWR);
    for (const int standard : {0, 1, 2}) dup2(nowhere, standard);
}

/// Answers questions from the socket until the other process closes the socket. SIGALRM ends this process if an
/// answer takes more than `seconds`. The process ends without running the destructors of foreign libraries.
[[noreturn]] void answer_questions(int socket, const WorkerProcess::AnswerFunction& answer, unsigned seconds) {
    try {
        while (const auto question = receive_message(socket)) {
            alarm(seconds);
            if (!send_message(socket, answer(*question))) break;
            alarm(0);
        }
    } catch (...) {
        _exit(EXIT_FAILURE);
    }
    _exit(EXIT_SUCCESS);
}

}  // namespace

WorkerProcess::WorkerProcess(AnswerFunction answer, unsigned seconds, std::uint64_t memory)
    : answer_(std::move(answer)), seconds_(seconds), memory_(memory) {}

WorkerProcess::~WorkerProcess() { end_process(SIGKILL); }

bool WorkerProcess::ensure_started() {
    if (socket_ >= 0) return true;
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return false;
    std::fflush(stdout);
    process_ = fork();
    if (process_ == 0) {
        close(ends[0]);
        restrict_process(memory_);
        answer_questions(ends[1], answer_, seconds_);
    }
    const int error = errno;
    close(ends[1]);
    if (process_ < 0) close(ends[0]);
    socket_ = process_ < 0 ? -1 : ends[0];
    errno = error;
    return process_ > 0;
}

/// Ends the child process and returns its status. If `signal_number` is not 0, sends this signal to the child;
/// otherwise the child ends because its socket is closed.
int WorkerProcess::end_process(int signal_number) {
    if (socket_ < 0) return 0;
    close(socket_);
    socket_ = -1;
    if (signal_number != 0) kill(process_, signal_number);
    int status = 0;
    while (waitpid(process_, &status, 0) < 0 && errno == EINTR) continue;
    return status;
}

std::string WorkerProcess::end_reason_text(int status) const {
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM) return fmt::format("took over {} s", seconds_);
    if (WIFSIGNALED(status)) return fmt::format("was killed by signal {}", WTERMSIG(status));
    return fmt::format("ended with status {} and no answer", WEXITSTATUS(status));
}

WorkerAnswer WorkerProcess::ask(const Message& question) {
    if (!ensure_started()) return {{}, fmt::format("could not be started ({})", std::strerror(errno))};
    if (send_message(socket_, question))
        if (auto answer = receive_message(socket_)) return {std::move(*answer), {}};
    return {{}, end_reason_text(end_process(0))};
}

}  // namespace fp32shim::cli
