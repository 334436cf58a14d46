// The warnings of a report's page: what did not run as requested, and what the recordings lack.
#include <fmt/format.h>

#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "cli/output/terminal.hpp"
#include "cli/recordings/algorithms.hpp"
#include "cli/recordings/process_text.hpp"
#include "cli/recordings/rule_use.hpp"
#include "cli/report/page_parts.hpp"
#include "cli/report/tables.hpp"
#include "cli/report/timeline.hpp"

namespace fp32shim::cli {
namespace {

constexpr std::size_t max_lines = 50;  ///< maximum number of lines of a warning

bool is_unchanged(const MergedRow& row) {
    return !row.is_overflow && ran_at_or_unknown(row) == "unchanged" && row.reason != "no_product";
}

/// A warning about the rows to which it applies. It begins with the number of their calls, then has `title`, and then
/// a line for each distinct result of `text`.
struct RowWarning {
    std::string_view title;
    bool (*applies_to)(const MergedRow&);
    std::string (*text)(const MergedRow&);
    bool is_refused = false;
};
constexpr RowWarning row_warnings[] = {
    {"did not run as requested", [](const MergedRow& row) { return row.is_request_refused(); },
     [](const MergedRow& row) {
         return fmt::format("{} requested, {} applied ({})", row.requested, ran_at_or_unknown(row), row.reason);
     },
     true},
    {"were forwarded unchanged: the format that they ran at is not known",
     [](const MergedRow& row) { return is_unchanged(row) && row.reason != "observed" && !row.is_half(); },
     [](const MergedRow& row) { return fmt::format("{} ({})", row.function, row.reason); }},
    {"were only observed: their operands are narrower than float32",
     [](const MergedRow& row) { return is_unchanged(row) && row.reason == "observed"; },
     [](const MergedRow& row) { return fmt::format("{} of {}", row.function, row.dtype); }},
    {"did not add in FP32 as requested",
     [](const MergedRow& row) {
         return is_unchanged(row) && row.is_half() && row.reason != "observed" && row.reason != "as_requested";
     },
     [](const MergedRow& row) { return fmt::format("{} of {} ({})", row.function, row.dtype, row.reason); }, true},
    {"found no room for their own decision: only their number and time are known",
     [](const MergedRow& row) { return row.is_overflow; },
     [](const MergedRow&) { return std::string("all decisions together"); }},
};

std::string missing_events_text(const MergedProcess& process) {
    std::string text;
    if (process.dropped_events > 0) text = counted(process.dropped_events, "event") + " dropped";
    if (process.overwritten_events > 0) {
        text += text.empty() ? "" : ", ";
        text += counted(process.overwritten_events, "event") + " overwritten by later ones";
    }
    return text;
}

/// A warning about processes. It has a line for each process for which `text` returns a text that is not empty.
struct ProcessWarning {
    std::string_view title;
    std::string (*text)(const MergedProcess&);
    /// True if the warning is left out with --since, by which a user measures one period of a process that goes on.
    bool is_left_out_since = false;
};
constexpr ProcessWarning process_warnings[] = {
    {"Calls were not counted by decision",
     [](const MergedProcess& process) {
         return process.uncounted_calls == 0
                    ? std::string()
                    : counted(process.uncounted_calls, "call") + ", of which only the number is known";
     }},
    {"Single calls are missing from the timeline, not from the counts", missing_events_text},
    {"Changes of settings are missing",
     [](const MergedProcess& process) {
         return process.lost_changes == 0 ? std::string() : lost_changes_text(process.lost_changes);
     }},
    {"The recording stopped before its program did",
     [](const MergedProcess& process) { return early_end_text(process.facts); }},
    {"The kernel refused space for the recording, or a write to it",
     [](const MergedProcess& process) {
         const bool is_refused = (process.facts.flags & record::format::flag_io_error) != 0;
         return is_refused ? std::string(std::strerror(process.facts.last_error)) : std::string();
     }},
    {"More calls may follow",
     [](const MergedProcess& process) {
         return process.state == record::RecordingState::live
                    ? fmt::format("process {} was still running", process.facts.process.pid)
                    : std::string();
     },
     true},
};

}  // namespace

Json warnings_json(const ReportContents& contents, bool is_since) {
    const MergedCalls& calls = contents.calls;
    Json warnings = Json::array();
    const auto warn = [&](const std::string& title, std::vector<std::string> lines, bool is_refused = false) {
        if (lines.empty()) return;
        if (const std::size_t count = lines.size(); count > max_lines) {
            lines.resize(max_lines);
            lines.push_back(fmt::format("and {} more", count - max_lines));
        }
        warnings.push_back({{"title", title}, {"lines", lines}, {"refused", is_refused}});
    };
    std::vector<std::string> damages, unused_rules;
    for (const ReadingProblem& problem : contents.problems) damages.push_back(problem.path + ": " + problem.text);
    warn("Recordings are damaged: what could not be read is missing here", damages);
    if (const std::string lost = lost_audits_text(calls); !lost.empty()) warn("Audits are missing", {lost});
    warn("Algorithms of cublasLt are known to be wrong", known_wrong_lines(calls));
    for (const RuleUseCount& rule : calls.rules())
        if (rule.is_unused()) unused_rules.push_back(unused_rule_text(rule));
    warn("Rules of the policy decided no call", unused_rules);
    for (const RowWarning& warning : row_warnings) {
        std::uint64_t total = 0;
        std::map<std::string, std::uint64_t> counts;
        for (const MergedRow& row : calls.rows()) {
            if (!warning.applies_to(row) || row.counters.calls == 0) continue;
            total += row.counters.calls;
            counts[warning.text(row)] += row.counters.calls;
        }
        std::vector<std::string> lines;
        for (const auto& [line, count] : counts) lines.push_back(fmt::format("{}: {}", counted(count, "call"), line));
        warn(fmt::format("{} {}", counted(total, "call"), warning.title), lines, warning.is_refused);
    }
    for (const ProcessWarning& warning : process_warnings) {
        if (is_since && warning.is_left_out_since) continue;
        std::vector<std::string> lines;
        for (const MergedProcess& process : calls.processes())
            if (const std::string line = warning.text(process); !line.empty())
                lines.push_back(fmt::format("{}: {}", process.path, line));
        warn(std::string(warning.title), lines);
    }
    return warnings;
}

}  // namespace fp32shim::cli
