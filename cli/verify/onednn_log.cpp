#include "cli/verify/onednn_log.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>

#include "cli/output/terminal.hpp"
#include "record/onednn/line.hpp"

namespace fp32shim::cli {
namespace {

void count_line(std::string_view line, OneDnnLog& log) {
    log.is_filtered = log.is_filtered || line.find("filter format is enabled") != std::string_view::npos;
    record::OneDnnExecution execution;
    const record::OneDnnLine kind = record::read_onednn_line(line, execution);
    if (kind == record::OneDnnLine::head) ++log.processes;
    if (kind != record::OneDnnLine::execution) return;
    ++log.executed;
    if (!execution.multiplies) return;
    ++log.products;
    const auto floor = policy::floor_met_by(execution.applied);  // none: unknown, or narrower operands
    if (!floor || *floor < policy::Floor::fp32) ++log.below;
}

}  // namespace

OneDnnLog count_onednn_lines(std::string_view text) {
    OneDnnLog log;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find('\n'), text.size());
        const std::string_view line = text.substr(0, end);
        text.remove_prefix(std::min(end + 1, text.size()));
        // The program may have begun the line with output of its own.
        for (const std::string_view beginning : record::onednn_line_beginnings)
            if (const std::size_t at = line.find(beginning); at != std::string_view::npos) {
                count_line(line.substr(at), log);
                break;
            }
    }
    return log;
}

std::string OneDnnLog::why_not_shown(std::int64_t began_ns) const {
    if (processes == 0) return fmt::format("{} has no head of a log of oneDNN", file);
    if (processes > 1) return fmt::format("{} has lines of {} processes", file, processes);
    if (written_ns < began_ns) return fmt::format("{} is older than the recording", file);
    if (is_filtered) return fmt::format("{} lacks lines of oneDNN: ONEDNN_VERBOSE has a filter", file);
    if (executed == 0)
        return fmt::format("{} shows no primitive that was executed: ONEDNN_VERBOSE may have left them out", file);
    if (below > 0)
        return fmt::format("of {} in {}, {} may have run below fp32", counted(products, "product"), file, below);
    return {};
}

std::string read_onednn_log(const std::string& path, OneDnnLog& log) {
    std::error_code error;
    if (std::filesystem::is_directory(path, error)) return path + ": is a folder, not a file";
    errno = 0;
    std::ifstream file(path, std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
    struct stat facts = {};
    if (!file.is_open() || file.bad() || stat(path.c_str(), &facts) != 0)
        return fmt::format("{}: {}", path, errno == 0 ? "cannot be read" : std::strerror(errno));
    log = count_onednn_lines(text);
    log.file = path;
    log.written_ns = std::int64_t{facts.st_mtim.tv_sec} * 1'000'000'000 + facts.st_mtim.tv_nsec;
    return {};
}

}  // namespace fp32shim::cli
