#include "cli/trials/command.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "cli/binaries/program_file.hpp"
#include "cli/binaries/shim_library.hpp"
#include "cli/command_line/commands.hpp"
#include "cli/output/terminal.hpp"
#include "cli/run/process_environment.hpp"
#include "policy/load.hpp"
#include "policy/messages.hpp"

namespace fp32shim::cli {
namespace {

/// Writes a file that must not exist. Returns 0 or an errno.
int write_new(const std::string& path, const std::string& text) {
    const int descriptor = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (descriptor < 0) return errno;
    const ssize_t written = write(descriptor, text.data(), text.size());
    const int error = written == static_cast<ssize_t>(text.size()) ? 0 : errno == 0 ? ENOSPC : errno;
    close(descriptor);
    return error;
}

}  // namespace

std::string problem_with_settings(std::string_view name) {
    if (const ShimLibrary library = find_shim_library(); !library.problem.empty()) return library.problem;
    ProcessEnvironment environment = ProcessEnvironment::of_this_process();
    if (!environment.get("FP32_MATMUL_POLICY").empty())
        say(name, "FP32_MATMUL_POLICY has no effect, because each run has its own policy");
    environment.set("FP32_MATMUL_POLICY", "");  // an empty value counts as unset
    const policy::Loaded loaded = policy::load(environment.views(), {});
    if (!loaded.errors.empty()) return loaded.errors.front().text();
    if (loaded.policy.disabled) return "FP32_MATMUL_DISABLE=1 is set: the shim is switched off; unset it";
    return {};
}

bool is_cpu_mode_open(const std::string& option) {
    return option.empty() && ProcessEnvironment::of_this_process().get("FP32_MATMUL_CPU").empty();
}

void say_preview(std::string_view name) {
    say(name,
        fmt::format("each product that was seen ran on a CPU, so lower precisions are previewed there (--cpu {})",
                    preview_mode));
}

void say_unread_input(std::string_view name) {
    struct stat status {};
    if (fstat(STDIN_FILENO, &status) != 0) return;
    if (S_ISREG(status.st_mode) && status.st_size > 0)
        say(name, "standard input is a file, but each run reads an empty one; let the command open the file itself");
    pollfd input{STDIN_FILENO, POLLIN, 0};
    if (S_ISFIFO(status.st_mode) && poll(&input, 1, 0) > 0 && (input.revents & POLLIN) != 0)
        say(name, "standard input is a pipe, but each run reads an empty one; let the command read a file");
}

std::string unknown_run_text(const FinishedRun& run) {
    if (!run.untouched.empty())
        return fmt::format(
            "a process of the command did not apply the policy of its run, so nothing is known about its "
            "products; it said \"{}\". TMPDIR names the folder for temporary files",
            printable(run.untouched));
    if (!run.lost.empty())
        return fmt::format(
            "{} was removed while the command ran, so nothing is known about its products. TMPDIR names the folder "
            "for temporary files; let the command remove those in another one: -- env TMPDIR=FOLDER COMMAND",
            policy::quoted_path(run.lost));
    return {};
}

std::string problem_with_new_file(std::string_view option, const std::string& path) {
    std::error_code error;
    if (!path.empty() && std::filesystem::exists(std::filesystem::symlink_status(path, error)))
        return fmt::format("{}: {} exists already; remove it, or name another file", option,
                           policy::quoted_path(path));
    const std::filesystem::path folder = std::filesystem::path(path).parent_path();
    if (!folder.empty() && access(folder.c_str(), W_OK | X_OK) != 0)
        return fmt::format("{}: the folder {} cannot be written ({}); name another", option,
                           policy::quoted_path(folder.string()), std::strerror(errno));
    return {};
}

std::string find_trial_program(std::string_view name, const std::vector<std::string>& words,
                               const std::string& runner) {
    if (!runner.empty()) return {};
    const char* path = std::getenv("PATH");
    const ProgramFile found = find_program(words.front(), path == nullptr || *path == '\0' ? nullptr : path);
    if (found.lookup != Lookup::found)
        throw End{fmt::format("{}: {}", found.path, found.cause),
                  found.lookup == Lookup::not_found ? exit_code::not_found : exit_code::not_executable};
    if (const Unseen unseen = why_unseen(found.path); !unseen.text.empty())
        say(name, fmt::format("{} {}, so its products are neither seen nor controlled", found.path, unseen.text));
    return found.path;
}

std::string last_lines_of(const std::string& output) {
    constexpr std::size_t most = 10;
    std::vector<std::string> lines;
    for (std::size_t begin = 0; begin < output.size();) {
        const std::size_t end = std::min(output.find('\n', begin), output.size());
        lines.push_back(printable(output.substr(begin, end - begin)));
        begin = end + 1;
    }
    std::string text;
    for (std::size_t i = lines.size() > most ? lines.size() - most : 0; i < lines.size(); ++i)
        text += "  | " + lines[i] + '\n';
    return text;
}

End no_product_seen(const RecordedProducts& products, TriedTypes types) {
    const bool is_float64 = types == TriedTypes::float64;
    const std::uint64_t others = products.calls_of_other_types;
    const std::string next =
        others == 0
            ? "fp32shim doctor -- COMMAND lists what cannot be seen"
            : fmt::format("{} of {} {} seen; fp32shim bisect {}--cpu emulate -- COMMAND tries {}",
                          counted(others, "call"), to_string(is_float64 ? TriedTypes::float32 : TriedTypes::float64),
                          others == 1 ? "was" : "were", is_float64 ? "" : "--dtype float64 ",
                          others == 1 ? "it" : "them");
    return {fmt::format("no {} matrix product of the command was seen{}; {}", to_string(types),
                        products.calls > 0 ? " with a location" : "", next),
            exit_code::no_product};
}

End nothing_lowered(const RecordedProducts& products, std::string_view precision) {
    if (products.calls == 0)
        return {
            fmt::format("a run with everything at {} multiplied nothing, though a run with everything exact did: "
                        "nothing is known about its products. If the command keeps results between runs (a cache, "
                        "a checkpoint), remove them before each run",
                        precision),
            exit_code::inconclusive};
    std::string reason;
    std::uint64_t most = 0;
    for (const auto& [name, calls] : products.reasons) {
        if (calls <= most) continue;
        reason = name;
        most = calls;
    }
    return {fmt::format("everything was asked to run at {}, but nothing did{}{}", precision,
                        reason.empty() ? "" : " (" + reason + ")",
                        reason == "cpu_mode_off" ? "; on a CPU, --cpu emulate shows what it would do" : ""),
            exit_code::inconclusive};
}

NewFile write_new_file(const std::string& path, std::string_view name, std::string_view suffix,
                       const std::string& text) {
    if (!path.empty()) return {path, write_new(path, text)};
    NewFile file{{}, EEXIST};
    for (int i = 0; file.error == EEXIST && i < 1000; ++i) {
        file.path = i == 0 ? fmt::format("{}{}", name, suffix) : fmt::format("{}.{}{}", name, i, suffix);
        file.error = write_new(file.path, text);
    }
    return file;
}

}  // namespace fp32shim::cli
