#include "cli/run/summary.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <vector>

#include "cli/binaries/bypasses.hpp"
#include "cli/output/moment.hpp"
#include "cli/output/terminal.hpp"
#include "cli/recordings/merged_calls.hpp"
#include "cli/recordings/recordings.hpp"
#include "cli/report/tables.hpp"
#include "cli/run/log_destination.hpp"
#include "cli/verify/bypasses.hpp"
#include "system/inline_text.hpp"

namespace fp32shim::cli {
namespace {

/// Quotes a word that a shell would otherwise interpret.
std::string shell_word(const std::string& text) {
    constexpr std::string_view plain = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789%+,-./:=@_";
    if (text.find_first_not_of(plain) == std::string::npos) return text;
    std::string word = "'";
    for (const char c : text) word += c == '\'' ? std::string("'\\''") : std::string(1, c);
    return word + "'";
}

/// Lists the bypasses that libraries contain: `oneDNN in libtorch_cpu.so, NNPACK in libnnpack.so`. Leaves out entries
/// about gaps in the recording, such as `later`, which the command `verify` reports.
std::string bypasses_text(const std::vector<PossibleBypass>& bypasses) {
    const std::vector<std::string_view> libraries = bypass_names();
    constexpr std::size_t most = 6;
    std::vector<std::string> texts;
    for (const PossibleBypass& bypass : bypasses) {
        if (std::ranges::count(libraries, bypass.name) == 0) continue;
        std::vector<std::string> files;
        for (const std::string& path : bypass.files) files.emplace_back(system::base_name(path));
        std::string text = fmt::format("{} in {}", bypass.name, listed(files, 2));
        if (std::ranges::count(texts, text) == 0) texts.push_back(std::move(text));
    }
    return printable(listed(texts, most));
}

}  // namespace

RunSummary::RunSummary(const std::string& log_path, ProcessEnvironment& environment)
    : log_path_(log_path), began_ns_(now_ns()) {
    if (!log_path.empty()) {
        if (!is_recording_name(log_path))
            problem_ =
                fmt::format("there will be no summary, because the log is {}; use NAME.fp32rec, or no log", log_path);
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
    // The program may change its working folder before it opens the recording.
    std::error_code error;
    const std::filesystem::path absolute = std::filesystem::absolute(folder, error);
    folder_ = error ? folder : absolute.string();
    log_path_ = with_percents_doubled(folder_) + "/%p.fp32rec";
    environment.set("FP32_MATMUL_LOG", log_path_);
}

RunSummary::~RunSummary() { remove_temporary_recordings(); }

std::vector<std::string> RunSummary::recordings(const RunChildren& children,
                                                const record::ProcessFacts& facts) const {
    std::vector<std::string> paths = recordings_of_run(log_path_, facts, children.run(), began_ns_);
    std::erase(paths, children.path());
    return paths;
}

std::string RunSummary::read(const std::vector<std::string>& recordings, const RunChildren& children) {
    MergedCalls calls;
    const auto problems = visit_recordings(
        recordings, [&](const std::string& path, record::RecordingReader& recording) { calls.add(path, recording); });
    std::string text;
    for (const ReadingProblem& problem : problems)
        text += fmt::format("{}: {}\n", printable(problem.path), printable(problem.text));
    has_calls_ = calls.total().calls > 0;
    has_unused_rule_ = cli::has_unused_rule(calls.rules());
    std::vector<MergedProcess> processes = calls.processes();
    if (std::filesystem::exists(children.path())) {
        MergedCalls of_others;
        visit_recordings({children.path()},
                         [&](const std::string& path, record::RecordingReader& file) { of_others.add(path, file); });
        processes.insert(processes.end(), of_others.processes().begin(), of_others.processes().end());
    }
    bypasses_ = bypasses_text(find_possible_bypasses(processes));
    if (has_calls_) {
        text += report_table(calls, {.sites = 5, .how_to_see_more = how_to_see_more(recordings)}, STDERR_FILENO);
        if (!bypasses_.empty()) text += fmt::format("Not counted, if these multiplied: {}\n", bypasses_);
    }
    return text.empty() ? text : "\nfp32shim: " + text;
}

std::string RunSummary::how_to_see_more(const std::vector<std::string>& recordings) const {
    if (is_temporary()) return "to see all of them, record with --log NAME.fp32rec and run fp32shim report";
    constexpr std::size_t most = 3;
    std::string command = "fp32shim report --top 0";
    if (recordings.size() > most) return command + " shows all of the recordings that it is given";
    for (const std::string& path : recordings) command += ' ' + shell_word(path);
    return printable(command) + " shows all";
}

void RunSummary::remove_temporary_recordings() {
    if (folder_.empty()) return;
    std::error_code error;
    std::filesystem::remove_all(folder_, error);
    folder_.clear();
}

}  // namespace fp32shim::cli
