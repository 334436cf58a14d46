#include "cli/doctor/ask_in_child.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace fp32shim::cli {
namespace {

[[noreturn]] void answer(const std::function<Json()>& question, int descriptor, unsigned int seconds) {
    signal(SIGALRM, SIG_DFL);
    sigset_t alarm_only;
    sigemptyset(&alarm_only);
    sigaddset(&alarm_only, SIGALRM);
    sigprocmask(SIG_UNBLOCK, &alarm_only, nullptr);
    alarm(seconds);
    const rlimit no_core{0, 0};  // prevents a core file in the user's folder if the library crashes
    setrlimit(RLIMIT_CORE, &no_core);
    const int nowhere = open("/dev/null", O_RDWR);
    for (const int standard : {0, 1, 2}) dup2(nowhere, standard);
    const std::string text = question().dump(-1, ' ', false, Json::error_handler_t::replace);
    for (std::size_t done = 0; done < text.size();) {
        const ssize_t written = write(descriptor, text.data() + done, text.size() - done);
        if (written <= 0) break;
        done += static_cast<std::size_t>(written);
    }
    _exit(EXIT_SUCCESS);  // skips the destructors of foreign libraries
}

std::string how_it_ended(int status) {
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM) return "did not answer in time";
    if (WIFSIGNALED(status)) return fmt::format("was killed by signal {}", WTERMSIG(status));
    return fmt::format("ended with status {} and no answer", WEXITSTATUS(status));
}

}  // namespace

Answer ask_in_child(const std::function<Json()>& question, unsigned int seconds) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return {{}, std::strerror(errno)};
    std::fflush(stdout);
    const pid_t child = fork();
    if (child < 0) {
        const int error = errno;
        close(ends[0]);
        close(ends[1]);
        return {{}, std::strerror(error)};
    }
    if (child == 0) {
        try {
            answer(question, ends[1], seconds);
        } catch (...) {
            _exit(EXIT_FAILURE);
        }
    }
    close(ends[1]);
    std::string text;
    char buffer[4096];
    for (;;) {
        const ssize_t got = read(ends[0], buffer, sizeof buffer);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) break;
        text.append(buffer, static_cast<std::size_t>(got));
    }
    close(ends[0]);
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
    Json value = Json::parse(text, nullptr, false);
    if (value.is_discarded()) return {{}, how_it_ended(status)};
    return {std::move(value), {}};
}

}  // namespace fp32shim::cli
