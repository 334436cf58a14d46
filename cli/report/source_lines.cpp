#include "cli/report/source_lines.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <cstring>
#include <iterator>

#include "cli/output/json.hpp"
#include "system/limited_text.hpp"
#include "system/plain_text.hpp"
#include "system/raw_file.hpp"

namespace fp32shim::cli {
namespace {

constexpr std::size_t max_files = 1000;
constexpr off_t max_file_size = 4 << 20;
constexpr std::size_t max_line = 200;  ///< longest text of one source line, in bytes

bool is_source_file(std::string_view path) {
    constexpr std::string_view endings[] = {".py",  ".pyx", ".pxd", ".c",  ".cc",  ".cpp", ".cxx", ".cu",
                                            ".h",   ".hpp", ".cuh", ".f",  ".for", ".F",   ".f90", ".F90",
                                            ".f95", ".f03", ".f08", ".jl", ".R",   ".rs",  ".go",  ".m"};
    return std::ranges::any_of(endings, [&](std::string_view ending) { return path.ends_with(ending); });
}

struct SourceContents {
    std::string text;
    std::string why_not;  ///< reason why `text` could not be read; empty if it could
    std::int64_t changed_ns = 0;
};

SourceContents contents_of(const std::string& path) {
    SourceContents contents;
    if (!is_source_file(path)) return {{}, "its name is not that of a source file", 0};
    const system::RawFile file(path.c_str());
    struct stat status {};
    if (!file.is_open()) return {{}, std::strerror(file.error()), 0};
    if (!file.is_regular(status)) return {{}, "not a regular file", 0};
    if (status.st_size > max_file_size) return {{}, "larger than 4 MiB", 0};
    contents.changed_ns = std::int64_t{status.st_mtim.tv_sec} * 1'000'000'000 + status.st_mtim.tv_nsec;
    contents.text.resize(static_cast<std::size_t>(status.st_size));
    contents.text.resize(file.read(0, contents.text.data(), contents.text.size()));
    if (system::with_valid_utf8(contents.text) != contents.text) return {{}, "not UTF-8", 0};
    return contents;
}

std::string trimmed_line(std::string_view line) {
    const std::size_t begin = std::min(line.find_first_not_of(" \t"), line.size());
    std::string text(line.substr(begin));
    while (!text.empty() && (text.back() == '\r' || text.back() == ' ')) text.pop_back();
    char buffer[max_line];
    return std::string(system::cut_to_fit(text, buffer));
}

Json lines_of(std::string_view text, const std::set<std::uint32_t>& wanted) {
    Json lines = Json::object();
    std::uint32_t number = 1;
    for (const std::uint32_t line : wanted) {
        for (; number < line && !text.empty(); ++number)
            text.remove_prefix(std::min(text.find('\n'), text.size() - 1) + 1);
        if (text.empty()) break;
        lines[std::to_string(line)] = trimmed_line(text.substr(0, text.find('\n')));
    }
    return lines;
}

}  // namespace

Json SourceLineReader::read_wanted_lines(std::int64_t changed_after_ns) const {
    Json files = Json::object();
    for (const auto& [path, wanted] : wanted_) {
        if (files.size() == max_files) break;
        const SourceContents contents = contents_of(path);
        Json& file = files[path] = Json::object();
        if (!contents.why_not.empty()) {
            file["why"] = contents.why_not;
            continue;
        }
        file["lines"] = lines_of(contents.text, wanted);
        if (contents.changed_ns > changed_after_ns) file["changed"] = 1;
    }
    return files;
}

}  // namespace fp32shim::cli
