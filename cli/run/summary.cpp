#include "cli/run/summary.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>

#include "cli/binaries/bypasses.hpp"
#include "cli/output/moment.hpp"
#include "cli/output/shell_words.hpp"
#include "cli/output/terminal.hpp"
#include "cli/recordings/merged_calls.hpp"
#include "cli/recordings/recordings.hpp"
#include "cli/recordings/run_members.hpp"
#include "cli/report/tables.hpp"
#include "cli/run/log_destination.hpp"
#include "cli/verify/bypasses.hpp"
#include "record/format/identity.hpp"
#include "record/read/processes.hpp"
#include "system/inline_text.hpp"

namespace fp32shim::cli {
namespace {

/// Lists the bypasses (code that multiplies without the shim) in libraries, such as `oneDNN in libtorch_cpu.so,
/// NNPACK in libnnpack.so`. Leaves out libraries whose products are recorded. Also leaves out gaps in the recording,
/// such as libraries that were loaded too late, because `verify` reports gaps.
std::string bypasses_text(const std::vector<PossibleBypass>& bypasses) {
    const std::vector<std::string_view> libraries = bypass_names();
    constexpr std::size_t most = 6;
    std::vector<std::string> texts;
    for (const PossibleBypass& bypass : bypasses) {
        if (bypass.is_recorded || std::ranges::count(libraries, bypass.name) == 0) continue;
        std::vector<std::string> files;
        for (const std::string& path : bypass.files) files.emplace_back(system::base_name(path));
        std::string text = fmt::format("{} in {}", bypass.name, listed(files, 2));
        if (std::ranges::count(texts, text) == 0) texts.push_back(std::move(text));
    }
    return printable(listed(texts, most));
}

/// Returns a line with the time that the program ran, and the share of this time that its products took. The time of
/// the products is added up over threads and processes.
std::string time_text(const CallSum& total, std::int64_t program_ns) {
    const auto whole = static_cast<std::uint64_t>(std::max<std::int64_t>(program_ns, 1));
    const std::string duration = duration_text(static_cast<double>(whole));
    if (total.timed_calls == 0)
        return fmt::format("The program ran for {}. Its recorded products were not timed.\n", duration);
    std::string share = total.host_ns <= whole ? share_text(total.host_ns, whole) + " of that" : "more than that";
    if (total.is_part && total.host_ns <= whole) share = share.starts_with('<') ? "" : "at least " + share;
    return fmt::format(
        "The program ran for {}. Its recorded products took {} on the host, added up over threads{}{}.\n", duration,
        total.time_text(), share.empty() ? "" : ": ", share);
}

}  // namespace

RunSummary::RunSummary(const std::string& log_path, bool keeps, ProcessEnvironment& environment)
    : log_path_(log_path), began_ns_(now_ns()) {
    if (!log_path.empty()) {
        if (!is_recording_name(log_path))
            problem_ =
                fmt::format("there will be no summary, because the log is {}; use NAME.fp32rec, or no log", log_path);
        return;
    }
    if (keeps) kept_ = make_run_folder();
    if (keeps && kept_folder().empty()) mark_run_not_kept();
    if (!kept_folder().empty()) {
        log_path_ = kept_->log_path;
        environment.set("FP32_MATMUL_LOG", log_path_);
        return;
    }
    folder_.emplace("fp32shim-run");
    if (!folder_->problem().empty()) {
        problem_ = "no summary: " + folder_->problem();
        folder_.reset();
        return;
    }
    log_path_ = with_percents_doubled(folder_->path()) + "/%p.fp32rec";
    environment.set("FP32_MATMUL_LOG", log_path_);
}

RunEnding RunSummary::run_ending(const RunChildrenFile& children, const record::ProcessFacts& facts) const {
    RunEnding ending;
    ending.children_file = children.path();
    // Processes may make recordings until they end, so running processes are listed before recordings.
    if (children.is_awaited())
        ending.running = record::remaining_processes_of_run(children.run_number(), record::identify_self().start);
    ending.recordings = recordings_of_run(log_path_, facts, children.run_number(), began_ns_);
    // A relative log gives relative names, and the path of the children is absolute, so files are compared.
    std::erase_if(ending.recordings, [&](const std::string& path) {
        std::error_code error;
        return std::filesystem::equivalent(path, children.path(), error);
    });
    const auto file = read_run_member(ending.children_file);
    ending.has_lost_recordings =
        children.is_awaited() && ending.recordings.empty() && (!file || file->run_recordings > 0);
    return ending;
}

std::string RunSummary::summarize(const std::vector<std::string>& recordings, const RunChildrenFile& children,
                                  std::int64_t program_ns) {
    MergedCalls calls;
    const auto problems = visit_recordings(
        recordings, [&](const std::string& path, record::RecordingReader& recording) { calls.add(path, recording); });
    std::string text;
    for (const ReadingProblem& problem : problems)
        text += fmt::format("{}: {}\n", printable(problem.path), printable(problem.text));
    has_calls_ = calls.total().calls > 0;
    has_float32_ = std::ranges::any_of(
        calls.rows(), [](const MergedRow& row) { return !row.is_float64() && !row.is_vector_product(); });
    has_single_precision_ = std::ranges::any_of(
        calls.rows(), [](const MergedRow& row) { return row.is_float32() && !row.is_vector_product(); });
    has_places_ = std::ranges::any_of(calls.rows(), [](const MergedRow& row) { return !row.where.empty(); });
    needs_cpu_mode_ = std::ranges::any_of(calls.rows(), [](const MergedRow& row) {
        return row.reason == policy::to_string(policy::Reason::cpu_mode_off);
    });
    has_unused_rule_ = cli::has_unused_rule(calls.rules());
    std::vector<MergedProcess> processes = calls.processes();
    if (std::filesystem::exists(children.path())) {
        MergedCalls of_others;
        visit_recordings({children.path()},
                         [&](const std::string& path, record::RecordingReader& file) { of_others.add(path, file); });
        processes.insert(processes.end(), of_others.processes().begin(), of_others.processes().end());
    }
    const std::vector<PossibleBypass> bypasses = find_possible_bypasses(processes);
    bypasses_ = bypasses_text(bypasses);
    may_use_tf32_of_cudnn_ = std::ranges::any_of(
        bypasses, [](const PossibleBypass& bypass) { return bypass.name == "cuDNN" && bypass.pins == 0; });
    ran_below_fp32_ = std::ranges::any_of(calls.by_format(), [](const auto& one) {
        return floor_met_by_word(one.first).value_or(policy::Floor::none) < policy::Floor::fp32;
    });
    if (has_calls_) {
        text += report_table(
            calls, {.max_rows = 5, .how_to_see_more = how_to_see_more(recordings), .leaves_out_vectors = true},
            STDERR_FILENO);
        text += '\n' + time_text(calls.total(), program_ns);
        if (!bypasses_.empty())
            text += fmt::format("These libraries were loaded but are not covered: {}\n", bypasses_);
    }
    return text.empty() ? text : "\nfp32shim: " + text;
}

std::string RunSummary::next_commands(const std::vector<std::string>& recordings, std::vector<std::string> options,
                                      const std::vector<std::string>& program, policy::Floor floor) const {
    constexpr std::size_t longest = 200;
    const std::string words = shell_words(program);
    if (!has_calls_ || words.size() > longest) return {};
    std::vector<std::pair<std::string, std::string_view>> commands;
    if (!has_temporary_folder()) {
        std::string names;  // stays empty if the recordings are in .fp32shim, where commands find them by themselves
        if (kept_folder().empty())
            names = recordings.size() == 1 ? " " + quote_shell_path(recordings.front()) : " RECORDINGS";
        commands = {{"report -o report.html" + names, "all of it, as a page"},
                    {"verify --at-least fp32" + names, "did anything run below FP32, or go unseen?"}};
        if (std::ranges::count(options, "--reproducible") > 0)
            commands.back() = {"verify --reproducible" + names, "did every product run in a fixed order?"};
    }
    if (has_temporary_folder() || !kept_folder().empty()) {
        const bool has_options = !options.empty();
        if (std::ranges::count(options, "--where") == 0 && !has_places_)
            commands.emplace_back(
                fmt::format("run --where auto{}{} -- {}", has_options ? " " : "", shell_words(options), words),
                "the places of products, too");
        if (ran_below_fp32_) {
            if (floor < policy::Floor::fp32)
                commands.emplace_back("run --floor fp32 -- " + words, "a floor of FP32 for all that is seen");
            commands.emplace_back("sensitivity -- " + words, "how far does each line move the output?");
        } else if (!has_options && has_float32_ && !needs_cpu_mode_)
            commands.emplace_back("run --precision high --cpu emulate -- " + words,
                                  "TF32 on a GPU; on a CPU, its rounding of operands");
    }
    if (needs_cpu_mode_ && std::ranges::count(options, "--reproducible") == 0) {
        if (const auto mode = std::ranges::find(options, "--cpu"); mode != options.end())
            options.erase(mode, mode + 2);
        options.insert(options.end(), {"--cpu", "emulate"});
        commands.emplace_back(fmt::format("run {} -- {}", shell_words(options), words),
                              "what was asked for, previewed on the CPU");
    }
    if (commands.empty()) return {};
    std::string text = "Next:\n";
    for (const auto& [command, purpose] : commands)
        text += printable(fmt::format("  fp32shim {}   # {}", command, purpose)) + "\n";
    return text;
}

std::string RunSummary::how_to_see_more(const std::vector<std::string>& recordings) const {
    if (has_temporary_folder()) return "to see all of them, record with --log NAME.fp32rec and run fp32shim report";
    constexpr std::size_t most = 3;
    std::string command = "fp32shim report --top 0";
    if (!kept_folder().empty()) return command + " shows all";
    if (recordings.size() > most) return command + " shows all of the recordings that it is given";
    for (const std::string& path : recordings) command += ' ' + quote_shell_path(path);
    return printable(command) + " shows all";
}

void RunSummary::remove_folder() {
    remove_temporary_recordings();
    if (!kept_folder().empty()) rmdir(kept_folder().c_str());
}

}  // namespace fp32shim::cli
