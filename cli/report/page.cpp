// Makes the data of the page of `fp32shim report --format html`. Names in its data come from recordings and may be
// any text.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <string_view>
#include <utility>

#include "cli/output/json.hpp"
#include "cli/output/moment.hpp"
#include "cli/recordings/csv_and_json_columns.hpp"
#include "cli/recordings/process_text.hpp"
#include "cli/report/html_page.hpp"
#include "cli/report/output_file.hpp"
#include "cli/report/page_parts.hpp"
#include "cli/report/source_lines.hpp"
#include "cli/report/tables.hpp"

namespace fp32shim::cli {
namespace {

// These limits keep the page small. The limits for its rows of decisions are in report/page_rows.cpp.
constexpr std::size_t max_processes = 200;
constexpr std::size_t max_audits = 200;  ///< maximum number of rows of the table of audits
constexpr std::size_t max_found = 50;    ///< maximum number of rows of the tables of NaN and infinity
constexpr std::size_t max_changes = 50;  ///< maximum number of listed changes of settings
constexpr std::size_t max_values = 5;    ///< maximum number of values that are listed for a fact

std::string whole_policy_text(const record::StartEvent& start) {
    const std::string text = policy_name_text(start.policy_name, start.policy_revision, start.policy_sha256);
    return start.policy_sha256.empty() ? text : text + ", sha256 " + start.policy_sha256;
}

std::string job_text(const record::ProcessFacts& process) {
    const std::string rank = process.rank < 0 ? "" : fmt::format("rank {}", process.rank);
    return process.job_id + (process.job_id.empty() || rank.empty() ? "" : ", ") + rank;
}

/// The facts about a process. Each has a name, and a function that returns the fact as text, or an empty text if the
/// fact is not known.
constexpr std::pair<std::string_view, std::string (*)(const MergedProcess&)> facts[] = {
    {"Program", [](const MergedProcess& process) { return process.facts.process.executable; }},
    {"Command", [](const MergedProcess& process) { return process.facts.process.command; }},
    {"Host", [](const MergedProcess& process) { return process.facts.process.host; }},
    {"Process", [](const MergedProcess& process) { return std::to_string(process.facts.process.pid); }},
    {"Job", [](const MergedProcess& process) { return job_text(process.facts.process); }},
    {"Settings at its start",
     [](const MergedProcess& process) {
         return fmt::format("{}", fmt::join(settings_texts(process.facts.start), ", "));
     }},
    {"Other libraries", [](const MergedProcess& process) { return pins_text(process.facts.process.pins); }},
    {"Environment",
     [](const MergedProcess& process) {
         return fmt::format("{}", fmt::join(process.environment.text_lines(), "; "));
     }},
    {"Policy", [](const MergedProcess& process) { return whole_policy_text(process.facts.start); }},
    {"Recorded",
     [](const MergedProcess& process) {
         const bool is_calls = process.facts.start.log_level == policy::LogLevel::calls;
         return std::string(is_calls ? "every call (level calls)" : "counters (level summary)");
     }},
    {"fp32shim", [](const MergedProcess& process) { return process.facts.start.version; }},
};

/// Returns each fact with its distinct texts, the most frequent text first, and the number of processes with each
/// text.
Json facts_json(const MergedCalls& calls) {
    Json json = Json::array();
    for (const auto& [name, text_of] : facts) {
        std::map<std::string, std::size_t> counts;
        for (const MergedProcess& process : calls.processes())
            if (const std::string text = text_of(process); !text.empty()) ++counts[text];
        if (counts.empty()) continue;
        std::vector<std::pair<std::string, std::size_t>> values(counts.begin(), counts.end());
        std::ranges::stable_sort(values, std::greater<>(), [](const auto& value) { return value.second; });
        const std::size_t shown = std::min(values.size(), max_values);
        json.push_back({{"name", name}, {"values", Json::array()}, {"more", values.size() - shown}});
        for (std::size_t i = 0; i < shown; ++i)
            json.back()["values"].push_back({{"text", values[i].first}, {"recordings", values[i].second}});
    }
    return json;
}

Json processes_json(const MergedCalls& calls) {
    Json json = Json::array();
    for (const MergedProcess& process : calls.processes()) {
        if (json.size() == max_processes) break;
        if (process.is_children_file()) continue;
        json.push_back(json_object_of_row(process_columns(), process));
        json.back().update(json_object_of_row(further_process_columns(), process));
        json.back()["calls"] = process.calls;
    }
    return json;
}

Json changes_json(const MergedCalls& calls) {
    std::vector<std::pair<const record::RecordedSettingsChange*, const record::ProcessFacts*>> changes;
    for (const MergedProcess& process : calls.processes())
        for (const record::RecordedSettingsChange& change : process.changes)
            changes.emplace_back(&change, &process.facts.process);
    std::ranges::stable_sort(changes, {}, [](const auto& change) { return change.first->time_ns; });
    const std::size_t shown = std::min(changes.size(), max_changes);
    Json json = {{"list", Json::array()}, {"more", changes.size() - shown}};
    for (std::size_t i = 0; i < shown; ++i) {
        const auto& [change, process] = changes[i];
        json["list"].push_back({{"time", timestamp(change->time_ns)},
                                {"process", fmt::format("{} on {}", process->pid,
                                                        process->host.empty() ? "an unknown host" : process->host)},
                                {"change", settings_change_text(*change)},
                                {"by", change_origin_text(change->origin)},
                                {"done", change->was_done},
                                {"message", change->message}});
    }
    return json;
}

Json timeline_json(const Timeline& timeline) {
    if (timeline.empty()) return nullptr;
    const std::int64_t first = timeline.bins().begin()->first;
    Json bins = Json::array();
    for (const auto& [number, bin] : timeline.bins()) {
        bins.push_back({{"number", number - first}, {"calls", Json::array()}, {"host_ns", Json::array()}});
        for (const CallSum& share : bin) {
            bins.back()["calls"].push_back(share.calls);
            bins.back()["host_ns"].push_back(share.host_ns);
        }
    }
    return {{"begin", timestamp(first * timeline.bin_width_ns())},
            {"bin_ns", timeline.bin_width_ns()},
            {"formats", timeline.formats()},
            {"bins", std::move(bins)}};
}

/// Returns the source lines of all nodes that have one, in the form of SourceLineReader::read_wanted_lines(). The
/// result marks source files that were changed after `changed_after_ns`.
Json sources_json(const CallPathTree& paths, std::int64_t changed_after_ns) {
    SourceLineReader lines;
    for (const PathNode& node : paths.nodes())
        if (node.line != 0 && !node.file.empty()) lines.add_wanted_line(node.file, node.line);
    return lines.read_wanted_lines(changed_after_ns);
}

/// Returns the data of the page. It begins with the same members as the JSON of the report.
Json page_data(const ReportContents& contents, const ReportView& view) {
    const MergedCalls& calls = contents.calls;
    Json json = report_head_json(calls);
    // These keys are removed, because the page shows their values in tables and warnings of limited size.
    for (const char* const key : {"first_nonfinite", "first_received", "rules"}) json.erase(key);
    json["version"] = FP32SHIM_VERSION;
    json["filtered"] = view.is_filtered;
    json["sort"] = quantity_name_in_scripts(view.order);
    for (const auto& [word, key] : grouping_words) json["by"][std::string(word)] = view.grouping.*key;
    json["verdict"] = verdict_json(calls);
    json["warnings"] = warnings_json(contents, view.is_since);
    json["facts"] = facts_json(calls);
    json["processes"] = processes_json(calls);
    json["changes"] = changes_json(calls);
    json["nonfinite"] = table_json(first_nonfinite_table(calls, max_found));
    json["received"] = table_json(first_received_table(calls, max_found));
    json["audits"] = table_json(audit_table(calls, max_audits));
    json["timeline"] = timeline_json(contents.timeline);
    PageDecisions rows = page_decisions(calls, view.order);
    json["paths"] = page_paths_json(contents.paths, calls, view.order, rows.list_indices);
    json["sources"] = sources_json(contents.paths, calls.first_return_ns());
    const auto has_scope = [](const MergedRow& row) { return !row.scope.empty(); };
    if (std::ranges::any_of(calls.rows(), has_scope))
        json["scopes"] = page_paths_json(scope_tree(calls), calls, view.order, rows.list_indices);
    // This key is added last, since adding another key could copy this large value.
    json["decisions"] = std::move(rows.json);
    return json;
}

}  // namespace

std::string_view quantity_name_in_scripts(RowOrder order) {
    constexpr std::string_view names[] = {"host_ns", "calls", "work"};
    return names[static_cast<std::size_t>(order)];
}

void write_html(const ReportContents& contents, const ReportView& view, ReportOutput& output) {
    output.write(html_page(Page::report, page_data(contents, view)));
}

}  // namespace fp32shim::cli
