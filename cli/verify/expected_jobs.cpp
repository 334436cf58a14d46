// Compares the jobs of which a user expects recordings with the jobs that have recordings.
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <system_error>

#include "cli/output/terminal.hpp"
#include "cli/verify/verdict.hpp"

namespace fp32shim::cli {
namespace {

/// Returns the cells of a line of a table. The cells are separated by `|` if the line has one, otherwise by blanks.
std::vector<std::string_view> cells_of(std::string_view line) {
    const bool has_bars = line.find('|') != std::string_view::npos;
    const std::string_view separators = has_bars ? "|\r" : " \t\r";
    std::vector<std::string_view> cells;
    while (!line.empty()) {
        const std::size_t end = std::min(line.find_first_of(separators), line.size());
        if (end > 0 || has_bars) cells.push_back(line.substr(0, end));
        line.remove_prefix(std::min(end + 1, line.size()));
    }
    return cells;
}

/// Returns the index of the column with job ids if `cells` are a table's titles; otherwise the number of `cells`.
std::size_t column_of_jobs(const std::vector<std::string_view>& cells) {
    const auto raw = std::ranges::find(cells, "JobIDRaw");
    const auto found = raw != cells.end() ? raw : std::ranges::find(cells, "JobID");
    return static_cast<std::size_t>(found - cells.begin());
}

/// Appends the job ids in `text` to `jobs`, each once. The text has one id on each line, or it is a table that sacct
/// prints, with `|` or blanks between columns; then the ids are in the column JobIDRaw or else JobID. Steps
/// (`12.batch`, `12.0`) count as their job. Lines that begin with `#` are left out. Returns what is wrong with a line
/// whose job id cannot be told; empty if there is none.
std::string parse_job_ids(std::string_view text, std::vector<std::string>& jobs) {
    std::set<std::string, std::less<>> known;
    std::optional<std::size_t> column;
    for (std::size_t number = 1; !text.empty(); ++number) {
        const std::size_t end = std::min(text.find('\n'), text.size());
        const std::string_view line = text.substr(0, end);
        text.remove_prefix(std::min(end + 1, text.size()));
        const auto cells = cells_of(line);
        if (cells.empty() || line.starts_with('#') || line.starts_with("---")) continue;
        if (const std::size_t titled = column_of_jobs(cells); titled < cells.size()) {
            column = titled;
            continue;
        }
        if (column ? *column >= cells.size() : cells.size() > 1)
            return fmt::format("line {} has {}, {}; give one job id a line, or the output of sacct with its titles",
                               number, counted(cells.size(), "word"),
                               column ? "so it lacks the column of job ids"
                                      : "but no title JobIDRaw or JobID tells which is the job id");
        std::string_view job = cells[column.value_or(0)];
        // Steps of Slurm are `12.batch` or `12.0`; the ids of jobs in PBS are `12.server`.
        if (const std::size_t dot = job.find('.'); dot != std::string_view::npos) {
            const std::string_view step = job.substr(dot + 1);
            if (step == "batch" || step == "extern" || step == "interactive" ||
                step.find_first_not_of("0123456789") == std::string_view::npos)
                job = job.substr(0, dot);
        }
        if (!job.empty() && known.emplace(job).second) jobs.emplace_back(job);
    }
    return {};
}

}  // namespace

std::string read_expected_jobs(const std::string& path, ExpectedJobList& expected) {
    std::error_code error;
    if (std::filesystem::is_directory(path, error)) return path + ": is a folder, not a file";
    errno = 0;
    std::ifstream file(path == "-" ? "/dev/stdin" : path);
    const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
    if (!file.is_open() || file.bad())
        return fmt::format("{}: {}", path, errno == 0 ? "cannot be read" : std::strerror(errno));
    expected.file = path;
    if (const std::string problem = parse_job_ids(text, expected.jobs); !problem.empty())
        return path + ": " + problem;
    return expected.jobs.empty() ? path + ": has no job ids; give one a line, or the output of sacct" : std::string();
}

void compare_jobs(const std::vector<MergedProcess>& processes, ExpectedJobList& expected) {
    if (expected.file.empty()) return;
    const std::set<std::string_view> wanted(expected.jobs.begin(), expected.jobs.end());
    std::set<std::string_view> recorded;
    for (const MergedProcess& process : processes) {
        if (process.is_children_file()) continue;
        const std::string& job = process.facts.process.job_id;
        recorded.insert(job);
        if (!wanted.contains(job)) expected.unexpected.push_back(process.path);
    }
    for (const std::string& job : expected.jobs)
        if (!recorded.contains(job)) expected.missing.push_back(job);
}

}  // namespace fp32shim::cli
