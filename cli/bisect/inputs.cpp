#include "cli/bisect/inputs.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <system_error>

#include "cli/binaries/file_hash.hpp"

namespace fp32shim::cli {
namespace {

namespace fs = std::filesystem;

/// Returns true if this command's own output goes to the file.
bool is_own_output(const fs::path& path) {
    struct stat file {
    }, output{};
    if (stat(path.c_str(), &file) != 0) return false;
    return std::ranges::any_of(std::array{STDOUT_FILENO, STDERR_FILENO}, [&](int descriptor) {
        return fstat(descriptor, &output) == 0 && output.st_ino == file.st_ino && output.st_dev == file.st_dev;
    });
}

FolderState state_of_folder() {
    FolderState state;
    std::error_code error;
    constexpr std::size_t most = 10'000;
    for (fs::directory_iterator at(".", error), end; at != end && !error && state.size() < most;
         at.increment(error)) {
        std::error_code unknown;
        if (!at->is_regular_file(unknown) || is_own_output(at->path())) continue;
        const std::uintmax_t size = at->file_size(unknown);
        state[at->path().filename().string()] = {size, at->last_write_time(unknown)};
    }
    return state;
}

}  // namespace

Inputs::Inputs(const std::string& program, const std::vector<std::string>& words) {
    std::vector<std::string> paths = words;
    paths.push_back(program);
    folder_before_ = state_of_folder();
    for (const std::string& path : paths)
        if (const std::string version = version_of_file(path); !version.empty()) before_[path] = version;
}

void Inputs::keep(const Groups& groups, SearchState& state) {
    // A file that the first run has changed is not read from, but written to.
    for (const auto& [path, version] : before_)
        if (!state.files().contains(path) && version_of_file(path) == version) state.add_file(path, version);
    before_.clear();
    for (const Group& group : groups.all()) {
        if (group.file.empty() || state.files().contains(group.file)) continue;
        if (const std::string version = version_of_file(group.file); !version.empty())
            state.add_file(group.file, version);
    }
}

std::vector<std::string> Inputs::changed_in_folder(const std::string& except) const {
    std::vector<std::string> changed;
    for (const auto& [name, file] : state_of_folder()) {
        const auto before = folder_before_.find(name);
        if (name != except && (before == folder_before_.end() || before->second != file)) changed.push_back(name);
    }
    return changed;
}

std::string Inputs::changed_file(const SearchState& state) {
    const auto changed = std::ranges::find_if(
        state.files(), [](const auto& file) { return version_of_file(file.first) != file.second; });
    return changed == state.files().end() ? std::string() : changed->first;
}

}  // namespace fp32shim::cli
