#include "cli/report/report_page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <limits>
#include <map>
#include <string_view>
#include <utility>

#include "cli/output/json.hpp"
#include "cli/output/moment.hpp"
#include "cli/output/terminal.hpp"
#include "cli/recordings/process_text.hpp"
#include "cli/report/html_page.hpp"
#include "cli/report/page_paths.hpp"
#include "cli/report/page_rows.hpp"
#include "cli/report/page_verdict.hpp"
#include "cli/report/tables.hpp"
#include "system/inline_text.hpp"

namespace fp32shim::cli {
namespace {

// Limits for the size of the page. Those for its rows are in report/page_rows.cpp.
constexpr std::size_t max_processes = 200;
constexpr std::size_t max_audits = 200;  ///< rows of the table of audits
constexpr std::size_t max_lines = 50;    ///< lines of a warning, and listed changes of settings
constexpr std::size_t max_values = 5;    ///< values listed for a fact

/// Returns `2026-11-21 08:42:00 UTC`.
std::string moment_text(std::int64_t time_ns) {
    std::string text = timestamp(time_ns).substr(0, std::strlen("2026-11-21T08:42:00"));
    text[text.find('T')] = ' ';
    return text + " UTC";
}

Json totals_json(const MergedCalls& calls) {
    const Share total = calls.total();
    double work = 0;
    std::uint64_t calls_with_work = 0;
    for (const MergedRow& row : calls.rows()) {
        work += row.total_flops();
        if (row.flops >= 0) calls_with_work += row.counters.calls;
    }
    return {{"calls", total.calls},
            {"host_ns", total.host_ns},
            {"work", work},
            {"calls_without_work", total.calls - calls_with_work},
            {"estimated", total.is_estimate},
            {"recordings", calls.recording_count()},
            {"decisions", calls.rows().size()}};
}

Json formats_json(const MergedCalls& calls) {
    std::map<std::string_view, double> work;
    for (const MergedRow& row : calls.rows()) work[format_of(row)] += row.total_flops();
    Json json = Json::array();
    for (const auto& [format, share] : calls.by_format()) {
        json.push_back({{"format", format},
                        {"calls", share.calls},
                        {"host_ns", share.host_ns},
                        {"estimated", share.is_estimate},
                        {"work", work[format]}});
    }
    return json;
}

// --- Facts about the processes

/// Returns the distinct texts, except empty ones, that `text_of` returns for processes, each with its number of
/// processes.
Json distinct_texts(const std::string& name, const MergedCalls& calls,
                    const std::function<std::string(const MergedProcess&)>& text_of) {
    std::map<std::string, std::size_t> counts;
    for (const MergedProcess& process : calls.processes()) {
        if (const std::string text = text_of(process); !text.empty()) ++counts[text];
    }
    std::vector<std::pair<std::string, std::size_t>> values(counts.begin(), counts.end());
    std::stable_sort(values.begin(), values.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
    Json json = {{"name", name}, {"values", Json::array()}, {"more", 0}};
    for (std::size_t i = 0; i < values.size() && i < max_values; ++i) {
        json["values"].push_back({{"text", truncated(values[i].first)}, {"recordings", values[i].second}});
    }
    if (values.size() > max_values) json["more"] = values.size() - max_values;
    return json;
}

std::string whole_policy_text(const record::StartEvent& start) {
    const std::string text = policy_text(start.policy_name, start.policy_revision, start.policy_sha256);
    return start.policy_sha256.empty() ? text : text + ", sha256 " + start.policy_sha256;
}

Json facts_json(const MergedCalls& calls) {
    const auto rank_text = [](const MergedProcess& process) {
        const record::ProcessFacts& facts = process.facts.process;
        if (facts.job_id.empty() && facts.rank < 0) return std::string();
        return fmt::format("{}{}{}", facts.job_id, facts.job_id.empty() || facts.rank < 0 ? "" : ", ",
                           facts.rank < 0 ? std::string() : fmt::format("rank {}", facts.rank));
    };
    Json facts = Json::array();
    const auto add = [&](const std::string& name, const std::function<std::string(const MergedProcess&)>& text_of) {
        if (Json json = distinct_texts(name, calls, text_of); !json["values"].empty())
            facts.push_back(std::move(json));
    };
    add("Program", [](const MergedProcess& process) { return process.facts.process.executable; });
    add("Command", [](const MergedProcess& process) { return process.facts.process.command; });
    add("Host", [](const MergedProcess& process) { return process.facts.process.host; });
    add("Process", [](const MergedProcess& process) { return fmt::format("{}", process.facts.process.pid); });
    add("Job", rank_text);
    add("Settings at its start", [](const MergedProcess& process) { return settings_text(process.facts.start); });
    add("Other libraries", [](const MergedProcess& process) { return pins_text(process.facts.process.pins); });
    add("Environment",
        [](const MergedProcess& process) { return fmt::format("{}", fmt::join(process.environment.lines(), "; ")); });
    add("Policy", [](const MergedProcess& process) { return whole_policy_text(process.facts.start); });
    add("Recorded", [](const MergedProcess& process) {
        const bool is_calls = process.facts.start.log_level == policy::LogLevel::calls;
        return std::string(is_calls ? "every call (level calls)" : "counters (level summary)");
    });
    add("fp32shim", [](const MergedProcess& process) { return process.facts.start.version; });
    return facts;
}

/// Returns the command line without the folder of the program.
std::string short_command(const MergedProcess& process) {
    const std::string& command = process.facts.process.command;
    const std::size_t end = std::min(command.find(' '), command.size());
    const std::size_t slash = command.rfind('/', end);
    return slash == std::string::npos || slash >= end ? command : command.substr(slash + 1);
}

Json processes_json(const MergedCalls& calls) {
    Json json = Json::array();
    for (const MergedProcess& process : calls.processes()) {
        if (json.size() == max_processes) break;
        if (process.is_children_only()) continue;
        const record::ProcessFacts& facts = process.facts.process;
        json.push_back({{"recording", truncated(process.path)},
                        {"host", truncated(facts.host)},
                        {"pid", facts.pid},
                        {"rank", facts.rank < 0 ? Json() : Json(facts.rank)},
                        {"program", truncated(system::base_name(facts.executable))},
                        {"opened", moment_text(process.facts.opened_ns)},
                        {"state", record::to_string(process.state)},
                        {"calls", process.calls}});
    }
    return json;
}

/// Returns the time from the start of the first recording to the last call.
Json duration_json(const MergedCalls& calls) {
    auto opened_ns = std::numeric_limits<std::int64_t>::max();
    for (const MergedProcess& process : calls.processes()) opened_ns = std::min(opened_ns, process.facts.opened_ns);
    return {{"opened", moment_text(opened_ns)},
            {"last", calls.last_ns() == 0 ? Json() : Json(moment_text(calls.last_ns()))},
            {"duration_ns",
             calls.last_ns() == 0 ? Json() : Json(std::max<std::int64_t>(calls.last_ns() - opened_ns, 0))}};
}

// --- Changes while the program ran

Json changes_json(const MergedCalls& calls) {
    using Change = std::pair<const record::RecordedChange*, const MergedProcess*>;
    std::vector<Change> changes;
    for (const MergedProcess& process : calls.processes()) {
        for (const record::RecordedChange& change : process.changes) changes.emplace_back(&change, &process);
    }
    std::stable_sort(changes.begin(), changes.end(),
                     [](const Change& a, const Change& b) { return a.first->time_ns < b.first->time_ns; });
    Json json = {{"list", Json::array()}, {"more", 0}};
    for (const auto& [change, process] : changes) {
        if (json["list"].size() == max_lines) break;
        json["list"].push_back(
            {{"time", timestamp(change->time_ns)},
             {"time_ns", change->time_ns},
             {"process",
              fmt::format("{} on {}", process->facts.process.pid,
                          process->facts.process.host.empty() ? "an unknown host" : process->facts.process.host)},
             {"change", truncated(change_text(*change))},
             {"by", origin_text(change->origin)},
             {"done", change->was_done},
             {"message", truncated(change->message)}});
    }
    if (changes.size() > max_lines) json["more"] = changes.size() - max_lines;
    return json;
}

// --- Audits

Json table_json(const AuditTable& table) {
    Json heads = Json::array();
    for (const Table::Column& head : table.heads)
        heads.push_back({{"title", head.title}, {"number", head.is_number}});
    Json rows = Json::array();
    for (const std::vector<std::string>& row : table.rows) {
        rows.push_back(Json::array());
        for (const std::string& cell : row) rows.back().push_back(truncated(cell));
    }
    return {{"heads", std::move(heads)}, {"rows", std::move(rows)}, {"more", table.left_out}};
}

// --- Warnings

/// Adds a warning unless `lines` are empty. With `is_about_refused`, the page offers to show the rows that did not
/// run as requested.
void add_warning(Json& warnings, const std::string& title, const std::vector<std::string>& lines,
                 bool is_about_refused = false) {
    if (lines.empty()) return;
    Json shown = Json::array();
    for (std::size_t i = 0; i < lines.size() && i < max_lines; ++i) shown.push_back(truncated(lines[i]));
    if (lines.size() > max_lines) shown.push_back(fmt::format("and {} more", lines.size() - max_lines));
    warnings.push_back({{"title", title}, {"lines", std::move(shown)}, {"refused", is_about_refused}});
}

/// Adds a warning about the rows for which `is_meant` is true. It shows their number of calls before `title`, then a
/// line for each distinct text that `describe` returns. add_warning() explains `is_about_refused`.
void warn_about_rows(Json& warnings, const MergedCalls& calls, const std::string& title,
                     const std::function<bool(const MergedRow&)>& is_meant,
                     const std::function<std::string(const MergedRow&)>& describe, bool is_about_refused = false) {
    std::uint64_t total = 0;
    std::map<std::string, std::uint64_t> counts;
    for (const MergedRow& row : calls.rows()) {
        if (!is_meant(row) || row.counters.calls == 0) continue;
        total += row.counters.calls;
        counts[describe(row)] += row.counters.calls;
    }
    std::vector<std::string> lines;
    for (const auto& [line, count] : counts) lines.push_back(fmt::format("{}: {}", counted(count, "call"), line));
    add_warning(warnings, counted(total, "call") + " " + title, lines, is_about_refused);
}

/// Adds a warning about the processes for which `describe` returns a text: `title`, then a line for each.
void warn_about_processes(Json& warnings, const MergedCalls& calls, const std::string& title,
                          const std::function<std::string(const MergedProcess&)>& describe) {
    std::vector<std::string> lines;
    for (const MergedProcess& process : calls.processes())
        if (const std::string line = describe(process); !line.empty())
            lines.push_back(fmt::format("{}: {}", process.path, line));
    add_warning(warnings, title, lines);
}

void warn_about_decisions(Json& warnings, const MergedCalls& calls) {
    warn_about_rows(
        warnings, calls, "did not run as requested", [](const MergedRow& row) { return row.is_refused(); },
        [](const MergedRow& row) {
            return fmt::format("{} requested, {} applied ({})", row.requested, format_of(row), row.reason);
        },
        true);
    const auto is_unchanged = [](const MergedRow& row) {
        return !row.is_overflow && format_of(row) == "unchanged" && row.reason != "no_product";
    };
    warn_about_rows(
        warnings, calls, "were forwarded unchanged: the format that they ran at is not known",
        [&](const MergedRow& row) { return is_unchanged(row) && row.reason != "observed"; },
        [](const MergedRow& row) { return fmt::format("{} ({})", row.function, row.reason); });
    warn_about_rows(
        warnings, calls, "were only observed: their operands are narrower than float32",
        [&](const MergedRow& row) { return is_unchanged(row) && row.reason == "observed"; },
        [](const MergedRow& row) { return fmt::format("{} of {}", row.function, row.dtype); });
    warn_about_rows(
        warnings, calls, "found no room for their own decision: only their number and time are known",
        [](const MergedRow& row) { return row.is_overflow; },
        [](const MergedRow&) { return std::string("all decisions together"); });
}

std::string missing_events_text(const MergedProcess& process) {
    std::string text;
    if (process.dropped_events > 0) text = counted(process.dropped_events, "event") + " dropped";
    if (process.overwritten_events > 0) {
        text += text.empty() ? "" : ", ";
        text += counted(process.overwritten_events, "event") + " overwritten by later ones";
    }
    return text;
}

void warn_about_recordings(Json& warnings, const MergedCalls& calls, bool is_since) {
    const auto warn = [&](const std::string& title,
                          const std::function<std::string(const MergedProcess&)>& describe) {
        warn_about_processes(warnings, calls, title, describe);
    };
    warn("Calls were not counted by decision", [](const MergedProcess& process) {
        return process.uncounted_calls == 0
                   ? std::string()
                   : counted(process.uncounted_calls, "call") + ", of which only the number is known";
    });
    warn("Single calls are missing from the timeline, not from the counts", missing_events_text);
    warn("Changes of settings are missing", [](const MergedProcess& process) {
        return process.lost_changes == 0 ? std::string() : lost_changes_text(process.lost_changes);
    });
    warn("The recording stopped before its program did",
         [](const MergedProcess& process) { return early_end_text(process.facts); });
    warn("The kernel refused space for the recording, or a write to it", [](const MergedProcess& process) {
        const bool is_refused = (process.facts.flags & record::format::flag_io_error) != 0;
        return is_refused ? std::string(std::strerror(process.facts.last_error)) : std::string();
    });
    if (is_since) return;  // the reader chose the time
    warn("More calls may follow", [](const MergedProcess& process) {
        return process.state == record::RecordingState::live
                   ? fmt::format("process {} was still running", process.facts.process.pid)
                   : std::string();
    });
}

void warn_about_rules(Json& warnings, const MergedCalls& calls) {
    std::vector<std::string> lines;
    for (const RuleCount& rule : calls.rules())
        if (rule.is_unused()) lines.push_back(unused_rule_text(rule));
    add_warning(warnings, "Rules of the policy decided no call", lines);
}

Json warnings_json(const MergedCalls& calls, const std::vector<ReadingProblem>& problems, bool is_since) {
    Json warnings = Json::array();
    std::vector<std::string> lines;
    for (const ReadingProblem& problem : problems) lines.push_back(problem.path + ": " + problem.text);
    add_warning(warnings, "Recordings are damaged: what could not be read is missing here", lines);
    if (const std::string lost = lost_audits_text(calls); !lost.empty())
        add_warning(warnings, "Audits are missing", {lost});
    warn_about_rules(warnings, calls);
    warn_about_decisions(warnings, calls);
    warn_about_recordings(warnings, calls, is_since);
    return warnings;
}

// --- The page

Json timeline_json(const Timeline& timeline) {
    if (timeline.empty()) return nullptr;
    const std::int64_t first = timeline.bins().begin()->first;
    Json bins = Json::array();
    for (const auto& [number, bin] : timeline.bins()) {
        Json calls = Json::array(), host_ns = Json::array();
        for (const Share& share : bin) {
            calls.push_back(share.calls);
            host_ns.push_back(share.host_ns);
        }
        bins.push_back({{"number", number - first}, {"calls", std::move(calls)}, {"host_ns", std::move(host_ns)}});
    }
    return {{"begin_ns", first * timeline.bin_width_ns()},
            {"begin", timestamp(first * timeline.bin_width_ns())},
            {"bin_ns", timeline.bin_width_ns()},
            {"formats", timeline.formats()},
            {"bins", std::move(bins)}};
}

/// Returns the tree of scopes. Like module paths, labels are split at `/` and `.`. Below them are the locations of
/// calls, if they are known, and functions.
CallPaths scope_paths(const MergedCalls& calls) {
    CallPaths paths;
    for (std::size_t index = 0; index < calls.rows().size(); ++index) {
        const MergedRow& row = calls.rows()[index];
        std::string_view rest = row.scope;
        PathFrame frame;
        frame.function = rest.empty() ? "(no scope)" : "";
        std::uint32_t node = rest.empty() ? paths.child(0, frame) : 0;
        while (!rest.empty()) {
            const std::size_t size = std::min(rest.find_first_of("/."), rest.size());
            frame.function = rest.substr(0, size);
            rest.remove_prefix(std::min(size + 1, rest.size()));
            if (size > 0) node = paths.child(node, frame);
        }
        if (!row.where.empty()) {
            frame.function = row.where;
            node = paths.child(node, frame);
        }
        frame.function = row.is_overflow ? "(found no room)" : std::string_view(row.function);
        paths.add(paths.child(node, frame), static_cast<std::uint32_t>(index), row.counters);
    }
    paths.finish();
    return paths;
}

Json tree_json(const CallPaths& paths, const HtmlReport& report, const std::vector<std::int32_t>& list_indices) {
    const auto part_of = [&](std::size_t index) {
        const std::uint32_t row = paths.calls()[index].row;
        const MergedRow& decision = report.calls.rows()[row];
        return PagePart{SharedText(format_of(decision)), decision.flops, list_indices[row]};
    };
    return page_paths_json(paths, part_of, report.order, truncated);
}

Json page_data(const HtmlReport& report) {
    const MergedCalls& calls = report.calls;
    Json json;
    json["version"] = FP32SHIM_VERSION;
    json["filtered"] = report.is_filtered;
    json["sort"] = page_name(report.order);
    json["by"] = {{"where", report.grouping.by_where},     {"scope", report.grouping.by_scope},
                  {"caller", report.grouping.by_caller},   {"function", report.grouping.by_function},
                  {"size", report.grouping.by_size_class}, {"precision", report.grouping.by_precision}};
    json["totals"] = totals_json(calls);
    json["verdict"] = verdict_json(calls);
    json["period"] = duration_json(calls);
    json["formats"] = formats_json(calls);
    json["warnings"] = warnings_json(calls, report.problems, report.is_since);
    json["facts"] = facts_json(calls);
    json["commands"] = distinct_texts("Command", calls, short_command);
    json["programs"] = distinct_texts("Program", calls, [](const MergedProcess& process) {
        return std::string(system::base_name(process.facts.process.executable));
    });
    json["processes"] = processes_json(calls);
    json["changes"] = changes_json(calls);
    json["nonfinite"] = table_json(nonfinite_table(calls, max_lines));
    json["received"] = table_json(received_table(calls, max_lines));
    json["audits"] = table_json(audit_table(calls, max_audits));
    json["timeline"] = timeline_json(report.timeline);
    PageRows rows = page_rows(calls, report.order, truncated);
    json["decisions"] = std::move(rows.json);
    json["paths"] = tree_json(report.paths, report, rows.list_indices);
    json["sources"] = page_sources_json(report.paths, calls.first_ns());
    const bool has_scopes =
        std::ranges::any_of(calls.rows(), [](const MergedRow& row) { return !row.scope.empty(); });
    json["scopes"] = has_scopes ? tree_json(scope_paths(calls), report, rows.list_indices) : Json();
    return json;
}

}  // namespace

std::string report_page(const HtmlReport& report) { return html_page(Page::report, page_data(report)); }

}  // namespace fp32shim::cli
