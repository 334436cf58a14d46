#include "cli/run_summary.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <vector>

#include "cli/merged_calls.hpp"
#include "cli/recordings.hpp"
#include "cli/report_formats.hpp"
#include "cli/terminal.hpp"

namespace fp32shim::cli {
namespace {

/// `path` where the shim expands placeholders: a percent sign is written twice.
std::string with_percents_doubled(const std::string& path) {
    std::string result;
    for (const char c : path) result += c == '%' ? std::string("%%") : std::string(1, c);
    return result;
}

/// The recordings that `NAME.fp32rec` can have become: placeholders expanded, a number before the extension where the
/// name was taken.
std::string as_glob(std::string name) {
    constexpr std::string_view extension = ".fp32rec";
    name.resize(name.size() - extension.size());
    std::string pattern;
    for (std::size_t i = 0; i < name.size(); ++i) {
        if (name[i] == '%' && i + 1 < name.size()) {
            ++i;
            pattern += name[i] == '%' ? "%" : "*";
        } else if (std::string_view("*?[\\").find(name[i]) != std::string_view::npos) {
            pattern += '\\';
            pattern += name[i];
        } else {
            pattern += name[i];
        }
    }
    return pattern + "*" + std::string(extension);
}

/// In quotes where a shell would read something into it.
std::string shell_word(const std::string& text) {
    constexpr std::string_view plain = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789%+,-./:=@_";
    if (text.find_first_not_of(plain) == std::string::npos) return text;
    std::string word = "'";
    for (const char c : text) word += c == '\'' ? std::string("'\\''") : std::string(1, c);
    return word + "'";
}

std::int64_t now_ns() {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::system_clock::now().time_since_epoch())
        .count();
}

}  // namespace

RunSummary::RunSummary(const policy::Policy& policy, ProcessEnvironment& environment) : began_ns_(now_ns()) {
    if (!policy.log_path.empty()) {
        if (policy.log_path.ends_with(".fp32rec"))
            pattern_ = policy.log_path;
        else
            problem_ = fmt::format("no summary at the end, since the log is {}; one comes with NAME.fp32rec, or none",
                                   policy.log_path);
        return;
    }
    std::string folder = environment.get("TMPDIR");
    if (folder.empty()) folder = "/tmp";
    folder += "/fp32shim-run.XXXXXX";
    if (mkdtemp(folder.data()) == nullptr) {
        problem_ = fmt::format("no summary: {}: {}; TMPDIR names the folder for temporary recordings", folder,
                               std::strerror(errno));
        return;
    }
    folder_ = folder;
    environment.set("FP32_MATMUL_LOG", with_percents_doubled(folder) + "/%p.fp32rec");
}

RunSummary::~RunSummary() { remove_temporary_recordings(); }

std::string RunSummary::text() const {
    std::vector<std::string> arguments;
    if (!folder_.empty()) arguments.push_back(folder_);
    if (!pattern_.empty()) arguments.push_back(as_glob(pattern_));
    // Nothing there: the program multiplied nothing that the shim saw.
    const RecordingPaths found = find_recordings(arguments);
    MergedCalls calls;
    const auto problems =
        visit_recordings(found.paths, [&](const std::string& path, record::RecordingReader& recording) {
            if (recording.facts().opened_ns >= began_ns_) calls.add(path, recording);
        });
    std::string text;
    for (const ReadingProblem& problem : problems)
        text += fmt::format("{}: {}\n", problem.path, printable(problem.text));
    if (calls.total().calls > 0) {
        text += report_table(calls, {.sites = 5, .how_to_see_more = how_to_see_more(calls)}, STDERR_FILENO);
    }
    return text.empty() ? text : "\nfp32shim: " + text;
}

std::string RunSummary::how_to_see_more(const MergedCalls& calls) const {
    if (!folder_.empty()) return "fp32shim report shows all of a recording that is kept by --log NAME.fp32rec";
    std::string command = "fp32shim report --top 0";
    for (const MergedProcess& process : calls.processes()) command += ' ' + shell_word(process.path);
    if (calls.processes().size() > 3) command = "fp32shim report --top 0 " + shell_word(as_glob(pattern_));
    return printable(command) + " shows all";
}

void RunSummary::remove_temporary_recordings() {
    if (folder_.empty()) return;
    std::error_code error;
    std::filesystem::remove_all(folder_, error);
    folder_.clear();
}

}  // namespace fp32shim::cli
