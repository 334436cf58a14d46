#include "cli/binaries/program_file.hpp"

#include <elf.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <string_view>
#include <system_error>
#include <utility>

#include "cli/output/shell_words.hpp"

namespace fp32shim::cli {
namespace {

/// Returns a hint at the reason why the word `name` names no program: it may be a script that is given without its
/// interpreter, an option, or a whole command in quotes. Returns an empty text if no hint fits.
std::string question_about(const std::string& name) {
    if (name.starts_with("--")) return "; options of fp32shim go before the --";
    const std::string first = name.substr(0, name.find(' '));
    const char* const folders = std::getenv("PATH");
    if (first != name && find_program(first, folders).lookup == Lookup::found)
        return "; did you mean -- " + name + ", without quotes?";
    constexpr std::pair<std::string_view, std::string_view> interpreters[] = {
        {".py", "python3 "}, {".sh", "sh "}, {".R", "Rscript "}, {".jl", "julia "}, {"", "./"}};
    std::error_code error;
    if (!std::filesystem::is_regular_file(name, error)) return {};
    const auto* const with =
        std::ranges::find_if(interpreters, [&name](const auto& each) { return name.ends_with(each.first); });
    const bool is_path = name.find('/') != std::string::npos;
    if (with->first.empty() && (is_path || access(name.c_str(), X_OK) != 0)) return {};
    return "; did you mean -- " + std::string(with->second) + quote_shell_path(name) + "?";
}

ProgramFile read_program_file(const std::string& path) {
    struct stat status {};
    if (stat(path.c_str(), &status) != 0) {
        const bool is_absent = errno == ENOENT || errno == ENOTDIR;
        return {is_absent ? Lookup::not_found : Lookup::not_executable, path, std::strerror(errno)};
    }
    if (S_ISDIR(status.st_mode)) return {Lookup::not_executable, path, "it is a folder"};
    if (access(path.c_str(), X_OK) != 0)
        return {Lookup::not_executable, path, std::strerror(errno) + question_about(path)};
    return {Lookup::found, path, {}};
}

/// Returns the path of the program that `env` starts for the `#!` line of `script`, or an empty text if there is
/// none.
std::string started_by_env(const std::string& script) {
    std::ifstream file(script);
    std::string line;
    std::getline(file, line);
    std::istringstream words(line.substr(std::min<std::size_t>(line.size(), 2)));
    std::string word;
    words >> word;  // skips the path of env itself
    while (words >> word) {
        if (word.starts_with('-') || word.find('=') != std::string::npos) continue;
        return find_program(word, getenv("PATH")).path;
    }
    return {};
}

}  // namespace

ProgramFile find_program(const std::string& name, const char* path_variable) {
    if (name.empty()) return {Lookup::not_found, name, std::strerror(ENOENT)};
    if (name.find('/') != std::string::npos) return read_program_file(name);
    std::optional<ProgramFile> refused;
    std::string_view folders = path_variable != nullptr ? path_variable : "/bin:/usr/bin";
    for (;;) {
        const std::size_t colon = folders.find(':');
        const std::string folder(colon == 0 || folders.empty() ? "." : folders.substr(0, colon));
        ProgramFile candidate = read_program_file(folder + '/' + name);
        if (candidate.lookup == Lookup::found) return candidate;
        // If this user may not search the folder, the program is probably not in it, so the folder is ignored.
        const bool is_there = candidate.lookup == Lookup::not_executable && access(folder.c_str(), X_OK) == 0;
        if (is_there && !refused) refused = candidate;
        if (colon == std::string_view::npos) break;
        folders.remove_prefix(colon + 1);
    }
    return refused.value_or(
        ProgramFile{Lookup::not_found, name, "it is not in any folder of PATH" + question_about(name)});
}

std::string own_program_path() {
    std::error_code error;
    const std::filesystem::path file = std::filesystem::read_symlink("/proc/self/exe", error);
    if (!error) return file.string();
    const unsigned long name = getauxval(AT_EXECFN);
    return name == 0 ? "" : std::filesystem::canonical(reinterpret_cast<const char*>(name), error).string();
}

std::string find_installed_file(std::initializer_list<const char*> folders, const char* name) {
    const std::filesystem::path here = std::filesystem::path(own_program_path()).parent_path();
    std::error_code error;
    for (const char* folder : folders) {
        const std::filesystem::path candidate = here / folder / name;
        if (std::filesystem::is_regular_file(candidate, error)) return candidate.lexically_normal().string();
    }
    return {};
}

bool is_elf_file(const std::string& path) {
    char magic[SELFMAG] = {};
    std::ifstream(path).read(magic, sizeof magic);
    return std::memcmp(magic, ELFMAG, SELFMAG) == 0;
}

PreloadObstacle find_preload_obstacle(const std::string& path) {
    std::array<char, record::program_head_size> buffer;
    record::InspectedProgram look = record::inspect_program(path.c_str(), buffer);
    std::string interpreter(look.interpreter);
    if (look.why == record::WhyUnseen::seen && interpreter.ends_with("/env")) {
        interpreter = started_by_env(path);
        look = record::inspect_program(interpreter.c_str(), buffer);
    }
    const std::string why(record::to_string(look.why));
    return {look.why, why.empty() || interpreter.empty() ? why : "is run by " + interpreter + ", which " + why};
}

}  // namespace fp32shim::cli
