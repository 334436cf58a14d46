#include "cli/recordings.hpp"

#include <fmt/format.h>
#include <glob.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <system_error>

#include "cli/progress.hpp"
#include "cli/terminal.hpp"

namespace fp32shim::cli {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> recordings_below(const std::string& folder, std::string& problem) {
    std::vector<std::string> found;
    std::error_code error;
    auto entry = fs::recursive_directory_iterator(folder, fs::directory_options::skip_permission_denied, error);
    for (; !error && entry != fs::recursive_directory_iterator(); entry.increment(error)) {
        std::error_code ignored;
        if (entry->path().extension() == ".fp32rec" && entry->is_regular_file(ignored))
            found.push_back(entry->path().string());
    }
    if (error)
        problem = fmt::format("{}: {}", folder, error.message());
    else if (found.empty())
        problem = fmt::format("{}: no *.fp32rec in this folder", folder);
    std::sort(found.begin(), found.end());
    return found;
}

std::vector<std::string> matches_of(const std::string& pattern) {
    std::vector<std::string> found;
    glob_t result{};
    if (glob(pattern.c_str(), 0, nullptr, &result) == 0) {
        found.assign(result.gl_pathv, result.gl_pathv + result.gl_pathc);
    }
    globfree(&result);
    return found;
}

}  // namespace

RecordingPaths find_recordings(const std::vector<std::string>& arguments) {
    RecordingPaths result;
    std::set<std::string> seen;
    const auto take = [&](const std::string& path) {
        std::error_code error;
        const fs::path canonical = fs::weakly_canonical(path, error);
        if (seen.insert(error ? path : canonical.string()).second) result.paths.push_back(path);
    };
    const auto take_folder = [&](const std::string& folder) {
        std::string problem;
        for (const std::string& path : recordings_below(folder, problem)) take(path);
        if (!problem.empty()) result.errors.push_back(problem);
    };
    for (const std::string& argument : arguments) {
        std::error_code error;
        const fs::file_status status = fs::status(argument, error);
        if (fs::is_directory(status)) {
            take_folder(argument);
        } else if (fs::exists(status)) {
            take(argument);
        } else if (const auto found = matches_of(argument); !found.empty()) {
            for (const std::string& path : found) {
                if (fs::is_directory(path, error))
                    take_folder(path);
                else
                    take(path);
            }
        } else {
            const bool is_absent = status.type() == fs::file_type::not_found;
            result.errors.push_back(
                fmt::format("{}: {}", argument, is_absent ? "no such file or folder" : error.message()));
        }
    }
    return result;
}

std::vector<ReadingProblem> visit_recordings(
    const std::vector<std::string>& paths,
    const std::function<void(const std::string&, record::RecordingReader&)>& visit) {
    std::vector<ReadingProblem> problems;
    Progress progress("reading recordings");
    for (std::size_t i = 0; i < paths.size(); ++i) {
        progress.show(i, paths.size());
        const auto opened = record::RecordingReader::open(paths[i]);
        if (!opened.reader) {
            problems.push_back({paths[i], opened.error});
            continue;
        }
        visit(paths[i], *opened.reader);
        for (const record::Problem& problem : opened.reader->problems()) {
            problems.push_back({paths[i], fmt::format("offset {}: {}", problem.offset, problem.what)});
        }
    }
    return problems;
}

bool say_problems(std::string_view command, const std::vector<ReadingProblem>& problems) {
    for (const ReadingProblem& problem : problems) say(command, problem.path + ": " + problem.text);
    return !problems.empty();
}

}  // namespace fp32shim::cli
