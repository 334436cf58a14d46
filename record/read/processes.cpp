#include "record/read/processes.hpp"

#include <dirent.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <system_error>

namespace fp32shim::record {

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
    std::string command(1 << 16, '\0');
    std::ifstream file("/proc/" + std::to_string(pid) + "/cmdline", std::ios::binary);
    file.read(command.data(), static_cast<std::streamsize>(command.size()));
    command.resize(static_cast<std::size_t>(file.gcount()));
    // Each argument ends in NUL. Programs that rewrite their title leave further NULs at the end.
    command.resize(command.find_last_not_of('\0') + 1);
    std::replace(command.begin(), command.end(), '\0', ' ');
    return command;
}

std::string executable_of(std::int32_t pid) {
    std::error_code error;
    return std::filesystem::read_symlink("/proc/" + std::to_string(pid) + "/exe", error).string();
}

}  // namespace fp32shim::record
