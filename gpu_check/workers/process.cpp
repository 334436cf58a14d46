#include "gpu_check/workers/process.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <stdexcept>
#include <string_view>

namespace gpu {
namespace {

constexpr std::size_t max_errors = 8192;  // number of bytes at the end of stderr that are kept

// Environment variables that neutral_environment() removes. CUDA_LAUNCH_BLOCKING makes every launch wait, which would
// falsify measured costs.
constexpr std::string_view names_about_precision[] = {"LD_PRELOAD",         "NVIDIA_TF32_OVERRIDE",
                                                      "XLA_FLAGS",          "FP32SHIM_XLA_FLAG",
                                                      "TRITON_F32_DEFAULT", "CUDA_LAUNCH_BLOCKING"};
constexpr std::string_view prefixes_about_precision[] = {"JAX_",      "TORCH_",       "CUPY_",   "CUBLAS_",
                                                         "CUBLASLT_", "FP32_MATMUL_", "CLIENT_", "GPU_CUBLAS_"};

bool is_about_precision(std::string_view name) {
    return std::ranges::find(names_about_precision, name) != std::end(names_about_precision) ||
           std::ranges::any_of(prefixes_about_precision, [&](auto prefix) { return name.starts_with(prefix); });
}

/// A pipe. The destructor closes the ends that are still open.
struct Pipe {
    std::array<int, 2> ends{-1, -1};

    Pipe() {
        if (pipe2(ends.data(), O_CLOEXEC) != 0)
            throw std::runtime_error(std::string("a pipe cannot be created: ") + std::strerror(errno));
    }
    ~Pipe() {
        close_end(0);
        close_end(1);
    }
    Pipe(const Pipe&) = delete;
    Pipe& operator=(const Pipe&) = delete;

    void close_end(int index) {
        if (ends[index] >= 0) close(ends[index]);
        ends[index] = -1;
    }
};

/// Starts the program in the child. Until execvpe() has failed, makes only calls that are safe between fork and exec.
[[noreturn]] void exec_child(const std::vector<char*>& words, const std::vector<char*>& variables, int output,
                             int errors) {
    setpgid(0, 0);
    // Ends the child with its parent, because Ctrl-C does not reach the child's process group.
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    const int nothing = open("/dev/null", O_RDONLY);
    dup2(nothing, 0);
    dup2(output, 1);
    dup2(errors, 2);
    execvpe(words[0], words.data(), variables.data());
    const char* const reason = std::strerror(errno);
    [[maybe_unused]] const auto written = write(2, reason, std::strlen(reason));
    _exit(127);
}

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
    std::vector<char*> result;
    for (std::string& text : texts) result.push_back(text.data());
    result.push_back(nullptr);
    return result;
}

pid_t start(std::vector<std::string> words, const Environment& environment, int output, int errors) {
    std::vector<std::string> variables;
    for (const auto& [name, value] : environment) variables.push_back(name + '=' + value);
    const auto argument_list = pointers_to(words);
    const auto variable_list = pointers_to(variables);
    const pid_t child = fork();
    if (child < 0) throw std::runtime_error(std::string("no process can be started: ") + std::strerror(errno));
    if (child == 0) exec_child(argument_list, variable_list, output, errors);
    setpgid(child, child);  // the child makes the same call, because either process may run first
    return child;
}

int milliseconds_until(Clock::time_point until) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now()).count();
    return static_cast<int>(std::clamp<long long>(left, 0, 1'000'000));
}

/// Reads once from a descriptor that is ready. Returns false at the end of the file or on an error.
bool read_available(int descriptor, std::string& text) {
    std::array<char, 4096> bytes;
    const ssize_t count = read(descriptor, bytes.data(), bytes.size());
    if (count < 0) return errno == EINTR || errno == EAGAIN;
    text.append(bytes.data(), static_cast<std::size_t>(count));
    return count > 0;
}

void pass_whole_lines(std::string& text, const std::function<void(const std::string&)>& handle_line) {
    std::size_t begin = 0;
    for (std::size_t end; (end = text.find('\n', begin)) != std::string::npos; begin = end + 1)
        handle_line(text.substr(begin, end - begin));
    text.erase(0, begin);
}

/// Waits until the child has ended, but no longer than until `until`. Returns false if the child is still running.
bool wait_until_ended(pid_t child, Clock::time_point until, int& status) {
    for (;;) {
        const pid_t ended = waitpid(child, &status, WNOHANG);
        if (ended == child || (ended < 0 && errno != EINTR)) return true;
        if (Clock::now() >= until) return false;
        poll(nullptr, 0, 5);
    }
}

}  // namespace

Environment own_environment() {
    Environment result;
    for (char** variable = environ; *variable != nullptr; ++variable) {
        const std::string text = *variable;
        const auto equals = text.find('=');
        if (equals != std::string::npos) result[text.substr(0, equals)] = text.substr(equals + 1);
    }
    return result;
}

Environment neutral_environment(std::vector<std::string>& left_out) {
    Environment result = own_environment();
    std::erase_if(result, [&](const auto& variable) {
        if (!is_about_precision(variable.first)) return false;
        left_out.push_back(variable.first);
        return true;
    });
    return result;
}

std::string program_folder() { return std::filesystem::read_symlink("/proc/self/exe").parent_path().string(); }

bool ProcessOutcome::has_hung() const { return timed_out || (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM); }

int ProcessOutcome::exit_status() const { return !timed_out && WIFEXITED(status) ? WEXITSTATUS(status) : -1; }

ProcessOutcome run_process(const std::vector<std::string>& words, const Environment& environment,
                           Clock::time_point until, const std::function<void(const std::string&)>& handle_line) {
    Pipe output;
    Pipe errors;
    const pid_t child = start(words, environment, output.ends[1], errors.ends[1]);
    output.close_end(1);
    errors.close_end(1);
    ProcessOutcome ended;
    std::string text;
    while (output.ends[0] >= 0 || errors.ends[0] >= 0) {
        std::array<pollfd, 2> waiting{{{output.ends[0], POLLIN, 0}, {errors.ends[0], POLLIN, 0}}};
        const int ready = poll(waiting.data(), waiting.size(), milliseconds_until(until));
        if (ready == 0 && Clock::now() >= until) break;
        if (waiting[0].revents != 0 && !read_available(output.ends[0], text)) output.close_end(0);
        if (waiting[1].revents != 0 && !read_available(errors.ends[0], ended.errors)) errors.close_end(0);
        if (ended.errors.size() > 2 * max_errors) ended.errors.erase(0, ended.errors.size() - max_errors);
        pass_whole_lines(text, handle_line);
    }
    ended.timed_out = !wait_until_ended(child, until, ended.status);
    // Also ends the processes that the child started, whether the child ended or timed out.
    kill(-child, SIGKILL);
    if (ended.timed_out) wait_until_ended(child, Clock::now() + std::chrono::seconds(2), ended.status);
    if (!text.empty()) handle_line(text);
    return ended;
}

std::string last_line(const std::string& text) {
    const auto end = text.find_last_not_of('\n');
    if (end == std::string::npos) return {};
    const auto before = text.rfind('\n', end);
    return text.substr(before + 1, end - before);
}

std::string describe_failure(const ProcessOutcome& ended, Clock::duration limit) {
    if (ended.has_hung()) {
        const auto seconds = std::chrono::ceil<std::chrono::seconds>(limit).count();
        return "no answer in " + std::to_string(seconds) + " s";
    }
    if (WIFSIGNALED(ended.status)) return "signal " + std::to_string(WTERMSIG(ended.status));
    return "status " + std::to_string(WEXITSTATUS(ended.status));
}

}  // namespace gpu
