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
#include <vector>

#include "cli/output/terminal.hpp"

namespace fp32shim::cli {
namespace {

constexpr std::string_view line_beginnings[] = {"onednn_verbose,", "dnnl_verbose,"};

/// Primitives that multiply no matrices. All others, also those of newer versions, count as products.
constexpr std::string_view no_products[] = {"batch_normalization",
                                            "binary",
                                            "concat",
                                            "eltwise",
                                            "group_normalization",
                                            "layer_normalization",
                                            "logsoftmax",
                                            "lrn",
                                            "pooling",
                                            "pooling_v2",
                                            "prelu",
                                            "reduction",
                                            "reorder",
                                            "resampling",
                                            "resampling_v2",
                                            "shuffle",
                                            "softmax",
                                            "softmax_v2",
                                            "sum",
                                            "zero_pad"};

/// Types of elements below float32, as they are written in lines of oneDNN.
constexpr std::string_view narrow_types[] = {"bf16", "f16", "f8", "f4", "tf32", "s8", "u8", "s4", "u4"};

template <std::size_t count>
bool is_one_of(const std::string_view (&words)[count], std::string_view word) {
    return std::ranges::find(words, word) != std::end(words);
}

std::vector<std::string_view> words_between(std::string_view text, std::string_view separators) {
    std::vector<std::string_view> words;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find_first_of(separators), text.size());
        words.push_back(text.substr(0, end));
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return words;
}

/// Returns true if a primitive's line names float32 or float64, no narrower type, and no mode that allows one.
bool is_at_float32(std::string_view line) {
    bool has_wide_type = false;
    for (const std::string_view word : words_between(line, ",:_+ -.")) {
        if (is_one_of(narrow_types, word)) return false;
        has_wide_type = has_wide_type || word == "f32" || word == "f64";
    }
    for (const std::string_view mode : {"fpmath:", "acc-mode:"}) {
        const std::size_t at = line.find(mode);
        if (at != std::string_view::npos && !line.substr(at + mode.size()).starts_with("strict")) return false;
    }
    return has_wide_type;
}

void count_line(std::string_view line, OneDnnLog& log) {
    const auto fields = words_between(line, ",");
    if (fields.size() > 2 && std::ranges::count(fields, "info") > 0 &&
        std::ranges::any_of(fields, [](std::string_view field) {
            return field.starts_with("oneDNN v") || field.starts_with("DNNL v");
        }))
        ++log.processes;
    // Versions differ in the fields before `exec`: marks of the format, a time, `primitive`.
    constexpr std::size_t most_fields_before = 5;
    const auto begin = fields.begin(),
               last = begin + std::min<std::ptrdiff_t>(most_fields_before, std::ssize(fields));
    const auto exec = std::find(begin, last, "exec");
    if (exec == last) return;
    ++log.executed;
    const bool has_kind = fields.end() - exec > 2;
    if (has_kind && is_one_of(no_products, exec[2])) return;
    ++log.products;
    if (!has_kind || !is_at_float32(line)) ++log.below;
}

}  // namespace

OneDnnLog count_onednn_lines(std::string_view text) {
    OneDnnLog log;
    for (const std::string_view line : words_between(text, "\n"))
        for (const std::string_view beginning : line_beginnings)
            // The program may have begun the line with output of its own.
            if (const std::size_t at = line.find(beginning); at != std::string_view::npos) {
                count_line(line.substr(at), log);
                break;
            }
    return log;
}

std::string OneDnnLog::why_not_shown(std::int64_t began_ns) const {
    if (processes == 0) return fmt::format("{} has no head of a log of oneDNN", file);
    if (processes > 1) return fmt::format("{} has lines of {} processes", file, processes);
    if (written_ns < began_ns) return fmt::format("{} is older than the recording", file);
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
