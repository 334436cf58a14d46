#include "cli/run/log_destination.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <fnmatch.h>
#include <glob.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>

#include "policy/messages.hpp"
#include "record/log_path.hpp"
#include "record/read/reader.hpp"

namespace fp32shim::cli {
namespace {

constexpr std::string_view extension = ".fp32rec";

/// Returns true if a placeholder of the log's name can be filled in only by the program: its process id, its start
/// time, or a rank or job that is unknown here. Under mpirun, for example, the program may know its rank.
bool depends_on_program(std::string_view name, const record::ProcessFacts& facts) {
    return record::has_placeholder(name, 'p') || record::has_placeholder(name, 't') ||
           (facts.rank < 0 && record::has_placeholder(name, 'r')) ||
           (facts.job_id.empty() && record::has_placeholder(name, 'j'));
}

/// Returns true if this process cannot know the folder of the log. With `%h` in the name, the program may run on
/// another host.
bool folder_depends_on_program(std::string_view name, const record::ProcessFacts& facts) {
    return depends_on_program(name, facts) || record::has_placeholder(name, 'h');
}

/// Returns the path for a name with placeholders; empty if the path is too long.
std::string expanded_path(std::string_view name, const record::ProcessFacts& facts) {
    std::array<char, record::path_capacity> buffer;
    return std::string(record::expand_path(name, facts, buffer).path);
}

std::string folder_of(const std::string& name) {
    const std::size_t slash = name.rfind('/');
    return slash == std::string::npos ? "." : slash == 0 ? "/" : name.substr(0, slash);
}

bool may_write(const std::string& path, int what) { return faccessat(AT_FDCWD, path.c_str(), what, AT_EACCESS) == 0; }

/// Returns the reason why JSON lines cannot be appended to an existing file; empty if they can be. The shim applies
/// the same rules in record/lines/decision_log.cpp.
std::string why_not_appended_to(const std::string& file, const struct stat& status) {
    if (S_ISLNK(status.st_mode)) return "is a symbolic link; logs are not written through links";
    if (status.st_uid != 0 && status.st_uid != geteuid()) return "belongs to another user (who is not root)";
    if (!may_write(file, W_OK)) return fmt::format("cannot be written ({})", std::strerror(errno));
    return {};
}

std::string escaped_for_glob(std::string_view text) {
    std::string pattern;
    for (const char letter : text) {
        if (std::string_view("*?[\\").find(letter) != std::string_view::npos) pattern += '\\';
        pattern += letter;
    }
    return pattern;
}

/// Returns a glob for all names that the log may get, with `end` before the extension. Placeholders for job and rank
/// are filled in if they are known here. All other placeholders match any text.
std::string glob_of_names(std::string_view name, std::string_view end, const record::ProcessFacts& facts) {
    name.remove_suffix(extension.size());
    std::string pattern;
    for (std::size_t i = 0; i < name.size(); ++i) {
        if (name[i] != '%') {
            pattern += escaped_for_glob(name.substr(i, 1));
            continue;
        }
        const std::string_view placeholder = name.substr(i++, 2);
        const bool is_known = placeholder == "%%" || (placeholder == "%j" && !facts.job_id.empty()) ||
                              (placeholder == "%r" && facts.rank >= 0);
        pattern += is_known ? escaped_for_glob(expanded_path(placeholder, facts)) : "*";
    }
    return pattern.append(end).append(extension);
}

bool matches(const std::string& pattern, const std::string& path) {
    return fnmatch(pattern.c_str(), path.c_str(), FNM_PATHNAME | FNM_PERIOD) == 0;
}

/// Returns `run.fp32rec` if `path` is `run.12.fp32rec`; empty if there is no number before the extension.
std::string without_number(const std::string& path) {
    const std::string name = path.substr(0, path.size() - extension.size());
    const std::size_t dot = name.rfind('.');
    if (dot == std::string::npos || name.find_first_not_of("0123456789", dot + 1) != std::string::npos) return {};
    return name.substr(0, dot) + std::string(extension);
}

}  // namespace

std::string with_percents_doubled(const std::string& path) {
    std::string result;
    for (const char c : path) result += c == '%' ? std::string("%%") : std::string(1, c);
    return result;
}

bool is_recording_name(const std::string& log_path) { return log_path.ends_with(extension); }

std::string problem_with_log_destination(const std::string& log_path, const record::ProcessFacts& facts) {
    const std::string folder = folder_of(log_path);
    if (log_path == "stderr" || folder_depends_on_program(folder, facts)) return {};
    std::array<char, record::path_capacity> buffer;
    if (const auto path = record::expand_path(log_path, facts, buffer); path.problem != record::PathProblem::none)
        return fmt::format("{}: {}", policy::quoted_path(log_path), record::describe_path_problem(path));
    // JSON lines are appended to the log if it exists, so the folder then need not be writable.
    if (!is_recording_name(log_path) && !depends_on_program(log_path, facts)) {
        const std::string file = expanded_path(log_path, facts);
        struct stat status {};
        if (lstat(file.c_str(), &status) == 0) {
            if (const std::string why = why_not_appended_to(file, status); !why.empty())
                return fmt::format("{} {}; name another file", policy::quoted_path(file), why);
            return {};
        }
    }
    const std::string target = expanded_path(folder, facts);
    struct stat status {};
    if (stat(target.c_str(), &status) != 0)
        return fmt::format("the folder {} of {} cannot be used ({}); create it, or name another",
                           policy::quoted_path(target), policy::quoted_path(log_path), std::strerror(errno));
    if (std::error_code error; !target.starts_with('/') && std::filesystem::current_path(error).empty())
        return fmt::format(
            "{} is relative to the working folder, which cannot be used ({}); change to another folder",
            policy::quoted_path(log_path), error.message());
    if (!S_ISDIR(status.st_mode))
        return fmt::format("{} (in {}) is not a folder; name another", policy::quoted_path(target),
                           policy::quoted_path(log_path));
    if (lstat(expanded_path(log_path, facts).c_str(), &status) != 0 && errno == ENAMETOOLONG)
        return fmt::format("{} cannot be created ({}); name a shorter one", policy::quoted_path(log_path),
                           std::strerror(errno));
    if (!may_write(target, W_OK | X_OK))
        return fmt::format("nothing can be written to the folder {} of {} ({}); name another",
                           policy::quoted_path(target), policy::quoted_path(log_path), std::strerror(errno));
    return {};
}

std::string existing_recording(const std::string& log_path, const record::ProcessFacts& facts) {
    if (!is_recording_name(log_path) || depends_on_program(log_path, facts)) return {};
    if (facts.rank >= 0 && !record::has_placeholder(log_path, 'r')) return {};
    const std::string path = expanded_path(log_path, facts);
    struct stat status {};
    return lstat(path.c_str(), &status) == 0 ? path : std::string();
}

bool is_log_folder_known(const std::string& log_path, const record::ProcessFacts& facts) {
    return log_path.starts_with('/') && !folder_depends_on_program(folder_of(log_path), facts);
}

std::string with_number_before_extension(const std::string& path, int number) {
    return fmt::format("{}.{}{}", path.substr(0, path.size() - extension.size()), number, extension);
}

std::vector<std::string> recordings_of_run(const std::string& log_path, const record::ProcessFacts& facts,
                                           std::uint64_t run, std::int64_t since_ns) {
    const std::string unnumbered = glob_of_names(log_path, "", facts);
    std::set<std::pair<std::int64_t, std::string>> by_begin;
    for (const std::string& pattern : {unnumbered, glob_of_names(log_path, ".[0-9]*", facts)}) {
        glob_t found{};
        if (glob(pattern.c_str(), 0, nullptr, &found) == 0) {
            for (std::size_t i = 0; i < found.gl_pathc; ++i) {
                const std::string path = found.gl_pathv[i];
                if (pattern != unnumbered && !matches(unnumbered, without_number(path))) continue;
                const auto opened = record::RecordingReader::open(path);
                if (opened.reader && opened.reader->facts().process.run == run &&
                    opened.reader->facts().opened_ns >= since_ns)
                    by_begin.emplace(opened.reader->facts().opened_ns, path);
            }
        }
        globfree(&found);
    }
    std::vector<std::string> paths;
    paths.reserve(by_begin.size());
    for (const auto& [begin, path] : by_begin) paths.push_back(path);
    return paths;
}

}  // namespace fp32shim::cli
