#include "cli/trials/runs.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <iterator>
#include <system_error>
#include <utility>

#include "cli/binaries/file_identity.hpp"
#include "cli/binaries/program_file.hpp"
#include "cli/files/own_files.hpp"
#include "cli/output/moment.hpp"
#include "cli/run/log_destination.hpp"

namespace fp32shim::cli {
namespace {

namespace fs = std::filesystem;

/// The kinds of code locations that a run records because rules of a policy can name them. Call sites in compiled
/// code are not in this list, because every recording has them.
constexpr const char* where_list = "python,nvtx,torch";

constexpr const char* policy_name = "/policy.toml";
constexpr const char* recordings = "/recordings";

/// Returns the first line of the file `output` that contains all of `texts`; empty if there is none.
std::string find_line(const std::string& output, std::initializer_list<std::string> texts) {
    std::ifstream file(output, std::ios::binary);
    for (std::string line; std::getline(file, line);)
        if (std::ranges::all_of(texts, [&](const std::string& text) { return line.find(text) != std::string::npos; }))
            return line;
    return {};
}

/// Makes the folder of a run, with its policy and an empty folder for recordings. Returns what could not be written
/// and why, or an empty text.
std::string make_run_folder(const std::string& folder, const std::string& policy) {
    for (const std::string& path : {folder, folder + recordings})
        if (mkdir(path.c_str(), S_IRWXU) != 0) return fmt::format("{}: {}", path, std::strerror(errno));
    const int error = write_new_file(folder + policy_name, policy);
    return error == 0 ? "" : fmt::format("{}: {}", folder + policy_name, std::strerror(error));
}

/// Returns the recording of a run that is missing or incomplete because it could not be written, and why, or an empty
/// text if no such recording is known. A process says so in `output`, or in the recording if its stderr goes
/// elsewhere.
std::string unwritten_recording(const std::string& folder, const std::string& output,
                                const RecordedProducts& products) {
    std::string line = find_line(output, {"fp32shim: recording ", folder + recordings});
    if (!line.empty()) return line;
    std::error_code error;
    const fs::space_info space = fs::space(folder, error);
    if (!error && space.capacity > 0 && space.free == 0) return folder + ": the disk is full";
    return products.unwritten_recording;
}

/// Returns the path of a file in `folder`, or of its folder of recordings, that was removed during the run. Returns
/// an empty text if nothing was removed.
std::string lost_file_of(const std::string& folder) {
    for (const char* name : {recordings, policy_name, "/output"})
        if (std::error_code error; !fs::exists(folder + name, error)) return folder + name;
    return {};
}

/// Returns the last lines of a file, at most 4 KiB.
std::string end_of_file(const std::string& path) {
    constexpr std::streamoff most = 4096;
    std::ifstream file(path, std::ios::binary);
    file.seekg(0, std::ios::end);
    const std::streamoff size = file.tellg();
    if (size <= 0) return {};
    file.seekg(std::max<std::streamoff>(size - most, 0));
    std::string text(std::istreambuf_iterator<char>(file), {});
    if (size > most) text.erase(0, text.find('\n') + 1);
    return text;
}

/// Starts the command line `words` in its own process group and with the signal mask `mask`, and sets `process` to
/// the process id. The stdout of the process goes to the file `output`, and its stderr to `errors`, which may be the
/// same file. Returns 0 or an errno.
int spawn(const std::vector<std::string>& words, const std::string& output, const std::string& errors,
          const sigset_t& mask, pid_t& process) {
    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, output.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
    posix_spawn_file_actions_addopen(&files, STDERR_FILENO, errors.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK);
    posix_spawnattr_setpgroup(&attributes, 0);
    posix_spawnattr_setsigmask(&attributes, &mask);
    const std::vector<char*> pointers = pointers_to(words);
    const int error = posix_spawnp(&process, pointers[0], &files, &attributes, pointers.data(), environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&files);
    return error;
}

/// Stores in `run` how and when a process ended. Returns false, and changes nothing, if it is still running.
bool reap(pid_t process, FinishedRun& run) {
    int status = 0;
    const pid_t changed = waitpid(process, &status, WNOHANG);
    if (changed == 0 || (changed < 0 && errno == EINTR)) return false;
    run.time.end_ns = now_ns();
    if (changed == process)
        run.ended = program_end_of(status);
    else
        run.ended.exec_error = errno;
    return true;
}

/// Ends a process group with SIGTERM. Once its leader has ended, or after two seconds, sends SIGKILL to the group.
void end_group(pid_t group) {
    kill(-group, SIGTERM);
    kill(-group, SIGCONT);
    FinishedRun unused;
    for (int i = 0; i < 200; ++i) {
        if (reap(group, unused)) break;
        const timespec pause{0, 10'000'000};
        nanosleep(&pause, nullptr);
    }
    kill(-group, SIGKILL);
    while (waitpid(group, nullptr, 0) < 0 && errno == EINTR) continue;
}

}  // namespace

CommandRunner::CommandRunner(RunSettings settings) : settings_(std::move(settings)) {
    sigemptyset(&awaited_signals_);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGCHLD}) sigaddset(&awaited_signals_, signal);
    sigprocmask(SIG_BLOCK, &awaited_signals_, &callers_mask_);
    // If SIGCHLD is ignored, the kernel keeps no exit status of child processes, so the default action must be set.
    std::signal(SIGCHLD, SIG_DFL);
    folder_.emplace("fp32shim-runs");
}

CommandRunner::~CommandRunner() {
    folder_.reset();  // while the signals are still blocked
    sigprocmask(SIG_SETMASK, &callers_mask_, nullptr);
}

std::vector<std::string> CommandRunner::command_line_for(const RunRequest& request, const std::string& folder) const {
    std::vector<std::string> words = settings_.runner;
    words.insert(words.end(),
                 {own_program_path(), "run", "--quiet", "--policy", folder + policy_name, "--where", where_list,
                  "--level", "summary", "--log", with_percents_doubled(folder) + recordings + "/%h.%p.fp32rec"});
    if (!request.precision.empty()) words.insert(words.end(), {"--precision", request.precision});
    if (const std::string& cpu = request.cpu.empty() ? settings_.cpu : request.cpu; !cpu.empty())
        words.insert(words.end(), {"--cpu", cpu});
    words.emplace_back("--");
    words.insert(words.end(), settings_.command.begin(), settings_.command.end());
    return words;
}

CommandRunner::StartedRun CommandRunner::start_run(const RunRequest& request) {
    StartedRun run;
    run.folder = fmt::format("{}/{}", folder_->path(), ++count_);
    run.result.unwritten = make_run_folder(run.folder, request.policy);
    if (!run.result.unwritten.empty()) return run;
    const std::string output = run.folder + "/output";
    run.result.time.begin_ns = now_ns();
    const int failure =
        spawn(command_line_for(request, run.folder), settings_.keeps_stdout ? run.folder + "/stdout" : output, output,
              callers_mask_, run.process);
    if (failure != 0) {
        run.process = -1;
        run.result.ended.exec_error = failure;
    }
    return run;
}

void CommandRunner::wait_for_all(std::vector<StartedRun>& runs) const {
    std::vector<StartedRun*> running;
    for (StartedRun& run : runs)
        if (run.process > 0) running.push_back(&run);
    for (;;) {
        std::erase_if(running, [](StartedRun* run) { return reap(run->process, run->result); });
        if (running.empty()) return;
        const int signal = sigwaitinfo(&awaited_signals_, nullptr);
        if (signal <= 0 || signal == SIGCHLD) continue;
        for (const StartedRun* run : running) end_group(run->process);
        throw InterruptedBySignal{signal};
    }
}

std::vector<FinishedRun> CommandRunner::run_all(const std::vector<RunRequest>& requests) {
    std::vector<StartedRun> runs;
    runs.reserve(requests.size());
    for (const RunRequest& request : requests) runs.push_back(start_run(request));
    wait_for_all(runs);
    std::vector<FinishedRun> results;
    for (StartedRun& run : runs) {
        run.result.lost = lost_file_of(run.folder);
        run.result.products = reader_.read(run.folder + recordings, settings_.types);
        run.result.unread_policy = find_line(
            run.folder + "/output",
            {"fp32shim: ", run.folder + policy_name + ": ", "the program runs as if fp32shim were not loaded"});
        if (run.result.unwritten.empty())
            run.result.unwritten = unwritten_recording(run.folder, run.folder + "/output", run.result.products);
        run.result.output = end_of_file(run.folder + "/output");
        run.result.checksum = checksum_or_mtime(run.folder + "/output");
        if (settings_.keeps_stdout) run.result.stdout_text = read_regular_file(run.folder + "/stdout").text;
        std::error_code error;
        fs::remove_all(run.folder, error);
        results.push_back(std::move(run.result));
    }
    return results;
}

}  // namespace fp32shim::cli
