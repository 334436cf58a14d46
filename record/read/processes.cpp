#include "record/read/processes.hpp"

#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string_view>
#include <system_error>
#include <thread>

#include "record/format/identity.hpp"
#include "record/process_facts.hpp"

namespace fp32shim::record {

namespace {

bool is_of_this_user(std::int32_t pid) {
    struct stat status {};
    return geteuid() == 0 ||
           (stat(("/proc/" + std::to_string(pid)).c_str(), &status) == 0 && status.st_uid == geteuid());
}

std::string content_of(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    std::string content;
    char buffer[4096];
    // read() fails for a process that has just ended. Iterators of the stream would throw then.
    while (file.read(buffer, sizeof buffer), file.gcount() > 0)
        content.append(buffer, static_cast<std::size_t>(file.gcount()));
    return content;
}

/// Returns the process if it belongs to the run, or may belong to it: it has the shim, but its environment, which
/// would say so, was overwritten. Servers show their title there.
std::optional<RemainingProcess> process_of_run(std::int32_t pid, std::uint64_t run) {
    const std::string folder = "/proc/" + std::to_string(pid);
    const std::string content = content_of(folder + "/environ");
    const std::string environment = '\0' + content;
    const std::string entry = '\0' + std::string(run_variable) + '=';
    if (const std::size_t found = environment.find(entry); found != std::string::npos) {
        const bool is_of_run = parse_run_note(environment.c_str() + found + entry.size()).number == run;
        return is_of_run ? std::optional(RemainingProcess{pid, true}) : std::nullopt;
    }
    const bool was_overwritten = !content.empty() && content.find('=') == std::string::npos;
    const bool may_be = was_overwritten && content_of(folder + "/maps").find("libfp32shim.so") != std::string::npos;
    return may_be ? std::optional(RemainingProcess{pid, false}) : std::nullopt;
}

}  // namespace

std::vector<std::int32_t> list_processes() {
    std::vector<std::int32_t> processes;
    DIR* folder = opendir("/proc");
    if (folder == nullptr) return processes;
    while (const dirent* entry = readdir(folder)) {
        const std::string_view name = entry->d_name;
        std::int32_t pid = 0;
        const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), pid);
        if (error == std::errc{} && end == name.data() + name.size() && pid > 0) processes.push_back(pid);
    }
    closedir(folder);
    std::sort(processes.begin(), processes.end());
    return processes;
}

std::string command_of(std::int32_t pid) {
    constexpr std::size_t longest = 1 << 16;
    std::string command = content_of("/proc/" + std::to_string(pid) + "/cmdline").substr(0, longest);
    // Each argument ends in NUL. Programs that rewrite their title leave further NULs at the end.
    command.resize(command.find_last_not_of('\0') + 1);
    std::replace(command.begin(), command.end(), '\0', ' ');
    return command;
}

std::string executable_of(std::int32_t pid) {
    std::error_code error;
    return std::filesystem::read_symlink("/proc/" + std::to_string(pid) + "/exe", error).string();
}

std::vector<RemainingProcess> remaining_processes_of_run(std::uint64_t run, std::uint64_t began) {
    std::vector<std::int32_t> own_line;  // this process and those from which it descends
    for (std::int32_t pid = identify_self().pid; pid > 0; pid = process_start_of(pid).parent) own_line.push_back(pid);
    constexpr std::chrono::milliseconds longest_wait{64};
    for (std::chrono::milliseconds wait{1};; wait *= 2) {
        std::vector<RemainingProcess> left;
        for (const std::int32_t pid : list_processes()) {
            if (std::ranges::count(own_line, pid) > 0 || !is_of_this_user(pid) || process_start_of(pid).start < began)
                continue;
            if (const auto process = process_of_run(pid, run)) left.push_back(*process);
        }
        if (left.empty() || wait > longest_wait) return left;
        std::this_thread::sleep_for(wait);
    }
}

}  // namespace fp32shim::record
