#include "cli/bisect/inputs.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "policy/sha256.hpp"

namespace fp32shim::cli {
namespace {

/// Returns the SHA-256 of a regular file's content; empty if it cannot be read.
std::string hash_of(const std::string& path) {
    std::error_code error;
    if (!std::filesystem::is_regular_file(path, error)) return {};
    std::ifstream file(path, std::ios::binary);
    if (!file) return {};
    policy::Sha256 hash;
    std::string bytes(1 << 16, '\0');
    while (file.read(bytes.data(), static_cast<std::streamsize>(bytes.size())) || file.gcount() > 0)
        hash.add(std::string_view(bytes).substr(0, static_cast<std::size_t>(file.gcount())));
    return hash.finish();
}

}  // namespace

Inputs::Inputs(const std::string& program, const std::vector<std::string>& words) {
    std::vector<std::string> paths = words;
    paths.push_back(program);
    for (const std::string& path : paths)
        if (const std::string hash = hash_of(path); !hash.empty()) before_[path] = hash;
}

void Inputs::keep(const Groups& groups, SearchState& state) {
    // A file that the first run has changed is not read from, but written to.
    for (const auto& [path, hash] : before_)
        if (!state.files().contains(path) && hash_of(path) == hash) state.add_file(path, hash);
    before_.clear();
    for (const Group& group : groups.all()) {
        if (group.file.empty() || state.files().contains(group.file)) continue;
        if (const std::string hash = hash_of(group.file); !hash.empty()) state.add_file(group.file, hash);
    }
}

std::string Inputs::changed_file(const SearchState& state) {
    const auto changed =
        std::ranges::find_if(state.files(), [](const auto& file) { return hash_of(file.first) != file.second; });
    return changed == state.files().end() ? std::string() : changed->first;
}

}  // namespace fp32shim::cli
