#include "cli/run/child.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>

#include "cli/binaries/program_file.hpp"

namespace fp32shim::cli {
namespace {

/// Returns the signals that are passed on to the program: all except those that cannot be caught and those about this
/// process's own terminal or children. SIGSEGV and similar signals are passed on too, because a user may send one to
/// find out where the program hangs. If this process itself causes a fault, its signal ends this process even while
/// it is blocked.
sigset_t signals_to_pass_on() {
    sigset_t set;
    sigfillset(&set);
    for (const int signal : {SIGKILL, SIGSTOP, SIGTTIN, SIGTTOU, SIGCHLD}) sigdelset(&set, signal);
    return set;
}

/// Returns true if a process sent the signal, which then has to be passed on. The kernel sends the signals of the
/// terminal to the whole process group, and so to the program itself.
bool was_sent_by_a_process(const siginfo_t& info) { return info.si_code <= 0; }

void stop_ourselves() {
    // The signal that stopped the program is blocked in this process and may be ignored, so SIGSTOP is used.
    kill(getpid(), SIGSTOP);
}

/// Waits until the program has ended, and returns its status. Passes on the signals in `awaited`, which must be
/// blocked.
int wait_for_end(pid_t program, const sigset_t& awaited) {
    for (;;) {
        int status = 0;
        const pid_t changed = waitpid(program, &status, WNOHANG | WUNTRACED);
        if (changed < 0 && errno != EINTR) return W_EXITCODE(EXIT_FAILURE, 0);
        if (changed == program && !WIFSTOPPED(status)) return status;
        if (changed == program) {
            // SIGSTOP was sent to the program alone. Its sender may later continue the program alone, so this process
            // does not stop.
            if (WSTOPSIG(status) != SIGSTOP) stop_ourselves();
            continue;
        }
        siginfo_t info{};
        const int signal = sigwaitinfo(&awaited, &info);
        if (signal > 0 && signal != SIGCHLD && was_sent_by_a_process(info)) kill(program, signal);
    }
}

}  // namespace

ProgramEnd program_end_of(int status) {
    if (WIFSIGNALED(status)) return {.signal = WTERMSIG(status)};
    return {.exit_status = WEXITSTATUS(status)};
}

std::vector<char*> pointers_to(const std::vector<std::string>& texts) {
    std::vector<char*> pointers;
    pointers.reserve(texts.size() + 1);
    for (const std::string& text : texts) pointers.push_back(const_cast<char*>(text.c_str()));
    pointers.push_back(nullptr);
    return pointers;
}

int replace_by_program(const std::string& path, const std::vector<std::string>& words,
                       const std::vector<std::string>& environment) {
    execve(path.c_str(), pointers_to(words).data(), pointers_to(environment).data());
    if (errno != ENOEXEC || is_elf_file(path)) return errno;
    // Like execvp, lets the shell run a script that has no `#!`.
    std::vector<std::string> shell_words = {"/bin/sh", path};
    shell_words.insert(shell_words.end(), words.begin() + 1, words.end());
    execve("/bin/sh", pointers_to(shell_words).data(), pointers_to(environment).data());
    return errno;
}

ProgramEnd run_program(const std::string& path, const std::vector<std::string>& words,
                       const std::vector<std::string>& environment, Output output) {
    int failure_pipe[2];  // carries the errno of a failed execve; a successful execve closes the pipe
    if (pipe2(failure_pipe, O_CLOEXEC) != 0) return {.exec_error = errno};

    sigset_t awaited = signals_to_pass_on();
    sigaddset(&awaited, SIGCHLD);
    sigset_t callers_mask;
    sigprocmask(SIG_BLOCK, &awaited, &callers_mask);
    // If SIGCHLD is ignored, the kernel keeps no exit status of children, so the default action is needed.
    struct sigaction callers_child_action {};
    struct sigaction default_action {};
    default_action.sa_handler = SIG_DFL;
    sigaction(SIGCHLD, &default_action, &callers_child_action);

    const pid_t program = fork();
    if (program == 0) {
        sigaction(SIGCHLD, &callers_child_action, nullptr);
        sigprocmask(SIG_SETMASK, &callers_mask, nullptr);
        if (output == Output::to_stderr) dup2(STDERR_FILENO, STDOUT_FILENO);
        const int error = replace_by_program(path, words, environment);
        [[maybe_unused]] const ssize_t written = write(failure_pipe[1], &error, sizeof error);
        _exit(EXIT_FAILURE);
    }
    const int fork_error = program < 0 ? errno : 0;
    close(failure_pipe[1]);
    ProgramEnd ended{.exec_error = fork_error};
    if (program > 0) {
        int error = 0;
        ssize_t size = 0;
        do size = read(failure_pipe[0], &error, sizeof error);
        while (size < 0 && errno == EINTR);
        ended = program_end_of(wait_for_end(program, awaited));
        if (size == sizeof error) ended.exec_error = error;
    }
    close(failure_pipe[0]);
    return ended;
}

std::string program_end_text(const ProgramEnd& ended) {
    return ended.signal != 0 ? fmt::format("was killed by signal {}", ended.signal)
                             : fmt::format("ended with status {}", ended.exit_status);
}

void end_self_by_signal(int signal) {
    const rlimit no_core{0, 0};
    setrlimit(RLIMIT_CORE, &no_core);
    prctl(PR_SET_DUMPABLE, 0);
    struct sigaction default_action {};
    default_action.sa_handler = SIG_DFL;
    sigaction(signal, &default_action, nullptr);
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, signal);
    kill(getpid(), signal);
    sigprocmask(SIG_UNBLOCK, &set, nullptr);
    _exit(128 + signal);
}

}  // namespace fp32shim::cli
