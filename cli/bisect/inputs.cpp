#include "cli/bisect/inputs.hpp"

#include <algorithm>

#include "cli/binaries/file_hash.hpp"

namespace fp32shim::cli {
Inputs::Inputs(const std::string& program, const std::vector<std::string>& words) {
    std::vector<std::string> paths = words;
    paths.push_back(program);
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

std::string Inputs::changed_file(const SearchState& state) {
    const auto changed = std::ranges::find_if(
        state.files(), [](const auto& file) { return version_of_file(file.first) != file.second; });
    return changed == state.files().end() ? std::string() : changed->first;
}

}  // namespace fp32shim::cli
