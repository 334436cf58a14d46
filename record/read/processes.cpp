#include "record/read/processes.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <filesystem>
#include <optional>
#include <system_error>
#include <thread>

#include "record/format/identity.hpp"
#include "record/process_facts.hpp"
#include "system/small_files.hpp"

namespace fp32shim::record {

namespace {

bool is_of_this_user(std::int32_t pid) {
    struct stat status {};
    return geteuid() == 0 ||
           (stat(("/proc/" + std::to_string(pid)).c_str(), &status) == 0 && status.st_uid == geteuid());
}

/// Returns the process `pid` if it belongs or may belong to the run. Its environment has the number of its run. If
/// the process has loaded the shim, but has overwritten its environment (as some servers do with their title), it may
/// belong to the run.
std::optional<RemainingProcess> process_of_run(std::int32_t pid, std::uint64_t run) {
    const std::string folder = "/proc/" + std::to_string(pid);
    const std::string content = system::read_small_file((folder + "/environ").c_str());
    const std::string environment = '\0' + content;
    const std::string entry = '\0' + std::string(run_variable) + '=';
    if (const std::size_t found = environment.find(entry); found != std::string::npos) {
        const bool is_of_run = parse_run_variable(environment.c_str() + found + entry.size()).number == run;
        return is_of_run ? std::optional(RemainingProcess{pid, true}) : std::nullopt;
    }
    const bool was_overwritten = !content.empty() && content.find('=') == std::string::npos;
    const bool may_be =
        was_overwritten &&
        system::read_small_file((folder + "/maps").c_str()).find("libfp32shim.so") != std::string::npos;
    return may_be ? std::optional(RemainingProcess{pid, false}) : std::nullopt;
}

}  // namespace

std::vector<std::int32_t> list_process_ids() {
    std::vector<std::int32_t> processes;
    std::error_code ended;
    for (auto entry = std::filesystem::directory_iterator("/proc", ended);
         !ended && entry != std::filesystem::directory_iterator(); entry.increment(ended)) {
        const std::string name = entry->path().filename().string();
        std::int32_t pid = 0;
        const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), pid);
        if (error == std::errc{} && end == name.data() + name.size() && pid > 0) processes.push_back(pid);
    }
    std::sort(processes.begin(), processes.end());
    return processes;
}

std::string command_line_of(std::int32_t pid) {
    constexpr std::size_t longest = 1 << 16;
    std::string command = system::read_small_file(("/proc/" + std::to_string(pid) + "/cmdline").c_str());
    command.resize(std::min(command.size(), longest));
    // Each argument ends in a NUL. Programs that rewrite their title leave further NULs at the end.
    command.resize(command.find_last_not_of('\0') + 1);
    std::replace(command.begin(), command.end(), '\0', ' ');
    return command;
}

std::string executable_of(std::int32_t pid) {
    std::error_code error;
    return std::filesystem::read_symlink("/proc/" + std::to_string(pid) + "/exe", error).string();
}

std::vector<RemainingProcess> remaining_processes_of_run(std::uint64_t run, std::uint64_t began) {
    std::vector<std::int32_t> self_and_ancestors;
    for (std::int32_t pid = identify_self().pid; pid > 0; pid = process_start_of(pid).parent)
        self_and_ancestors.push_back(pid);
    constexpr std::chrono::milliseconds longest_wait{64};
    for (std::chrono::milliseconds wait{1};; wait *= 2) {
        std::vector<RemainingProcess> left;
        for (const std::int32_t pid : list_process_ids()) {
            if (std::ranges::count(self_and_ancestors, pid) > 0 || !is_of_this_user(pid) ||
                process_start_of(pid).start < began)
                continue;
            if (const auto process = process_of_run(pid, run)) left.push_back(*process);
        }
        if (left.empty() || wait > longest_wait) return left;
        std::this_thread::sleep_for(wait);
    }
}

}  // namespace fp32shim::record
