#include "record/recording_processes.hpp"

#include <dirent.h>

#include <algorithm>
#include <charconv>
#include <string_view>

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

}  // namespace fp32shim::record
