#include "cli/report/formats.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <span>
#include <type_traits>
#include <utility>

#include "cli/output/moment.hpp"
#include "cli/output/text_columns.hpp"
#include "cli/recordings/process_text.hpp"
#include "cli/recordings/row_columns.hpp"
#include "cli/report/groups.hpp"
#include "policy/words.hpp"
#include "system/plain_text.hpp"

namespace fp32shim::cli {
namespace {

Colour colour_of_format(std::string_view format) {
    if (format == "fp32" || format == "bf16x9") return Colour::green;
    return format == "unchanged" || format == "unknown" ? Colour::none : Colour::yellow;
}

std::size_t host_count(const MergedCalls& calls) {
    std::set<std::string> hosts;
    for (const MergedProcess& process : calls.processes()) hosts.insert(process.facts.process.host);
    return hosts.size();
}

std::string head_text(const MergedCalls& calls) {
    const Share total = calls.total();
    std::string text =
        fmt::format("{} in {} on {}, {} on the host", counted(total.calls, "call"),
                    counted(calls.processes().size(), "recording"), counted(host_count(calls), "machine"),
                    duration_text(static_cast<double>(total.host_ns), total.is_estimate));
    if (calls.first_ns() != 0) {
        text += fmt::format(", {:.19}Z to {:.19}Z", timestamp(calls.first_ns()), timestamp(calls.last_ns()));
    }
    return text + "\n";
}

/// Describes the settings at the begin of the recordings, one line for each distinct set.
std::string all_settings_text(const MergedCalls& calls) {
    std::map<std::string, std::uint64_t> settings;
    for (const MergedProcess& process : calls.processes()) {
        if (process.is_children_only()) continue;
        const record::StartEvent& start = process.facts.start;
        std::string line = settings_text(start);
        if (const std::string pins = pins_text(process.facts.process.pins); !pins.empty()) line += ", " + pins;
        if (!start.policy_sha256.empty()) {
            line += fmt::format(", policy {}, sha256 {:.12}",
                                policy_text(start.policy_name, start.policy_revision, start.policy_sha256),
                                start.policy_sha256);
        }
        ++settings[printable(line)];
    }
    const std::string when = calls.processes().size() == 1 ? "At its start" : "At their start";
    std::string text;
    for (const auto& [line, count] : settings) {
        text += fmt::format("{}: {}", when, line);
        text += settings.size() == 1 ? "\n" : fmt::format(" ({})\n", counted(count, "recording"));
    }
    return text;
}

std::string format_text(const MergedCalls& calls, int stream) {
    const Share total = calls.total();
    std::string text;
    const auto& shares = calls.by_format();
    if (shares.empty()) return text;
    text += coloured(fmt::format("{:<10} {:>15} {:>7} {:>12}", "ran at", "calls", "", "host time"), Colour::bold,
                     stream) +
            "\n";
    for (const auto& [format, share] : shares) {
        const std::string of_host_time = share_text(share.host_ns, total.host_ns);
        text += fmt::format("{} {:>15} {:>7} {:>12}{}\n",
                            coloured(fmt::format("{:<10}", format), colour_of_format(format), stream),
                            count_text(share.calls), share_text(share.calls, total.calls),
                            duration_text(static_cast<double>(share.host_ns), share.is_estimate),
                            of_host_time.empty() ? "" : fmt::format(" {:>7}", of_host_time));
    }
    return text;
}

std::string all_changes_text(const MergedCalls& calls) {
    std::string text;
    for (const MergedProcess& process : calls.processes()) {
        for (const record::RecordedChange& change : process.changes) {
            text += fmt::format("{} process {}: {} ({}{}{})\n", timestamp(change.time_ns), process.facts.process.pid,
                                printable(change_text(change)), origin_text(change.origin),
                                change.was_done ? "" : ", refused",
                                change.message.empty() ? "" : ": " + printable(change.message));
        }
    }
    return text;
}

std::string missing_text(const MergedCalls& calls) {
    std::string text;
    if (const auto count = calls.uncounted_calls(); count > 0) {
        text += fmt::format("{} found no room: nothing but their number is known\n", counted(count, "call"));
    }
    if (const auto count = calls.dropped_events(); count > 0) {
        text += fmt::format("{} dropped: the log lacks them, the counts above do not\n", counted(count, "event"));
    }
    if (const auto count = calls.overwritten_events(); count > 0) {
        text += fmt::format("{} overwritten by later ones: the log lacks them, the counts above do not\n",
                            counted(count, "event"));
    }
    if (const auto count = calls.lost_changes(); count > 0) text += lost_changes_text(count) + "\n";
    for (const MergedProcess& process : calls.processes()) {
        if (const std::string why = early_end_text(process.facts); !why.empty())
            text += fmt::format("{}: {}\n", printable(process.path), why);
    }
    return text;
}

Json json_of(const Share& share) {
    return {{"calls", share.calls}, {"host_ns", share.host_ns}, {"timed_calls", share.timed_calls}};
}

constexpr policy::Word<record::format::ChangeOrigin> origin_words[] = {
    {"command", record::format::ChangeOrigin::command},
    {"program", record::format::ChangeOrigin::program},
    {"carried_over", record::format::ChangeOrigin::carried_over},
};
Json json_of(const record::RecordedChange& change) {
    using record::format::ChangeKind;
    return {{"time", timestamp(change.time_ns)},
            {"kind", change.kind == ChangeKind::set_precision ? "set_precision"
                     : change.kind == ChangeKind::set_floor   ? "set_floor"
                                                              : "reload"},
            {"by", text_or_null(policy::name_of(origin_words, change.origin))},
            {"done", change.was_done},
            {"precision", change.precision ? Json(policy::to_string(*change.precision)) : Json()},
            {"floor", change.kind == ChangeKind::set_floor ? Json(policy::to_string(change.floor)) : Json()},
            {"policy_name", text_or_null(change.policy_name)},
            {"policy_revision", text_or_null(change.policy_revision)},
            {"policy_sha256", text_or_null(change.policy_sha256)},
            {"message", text_or_null(change.message)}};
}

Json json_of(const MergedProcess& process) {
    const record::ProcessFacts& facts = process.facts.process;
    const record::StartEvent& start = process.facts.start;
    Json json = {{"recording", process.path},
                 {"state", record::to_string(process.state)},
                 {"pid", facts.pid},
                 {"host", text_or_null(facts.host)},
                 {"job_id", text_or_null(facts.job_id)},
                 {"rank", facts.rank < 0 ? Json() : Json(facts.rank)},
                 {"forked_from", facts.forked_from == 0 ? Json() : Json(facts.forked_from)},
                 {"executable", text_or_null(facts.executable)},
                 {"command", text_or_null(facts.command)},
                 {"opened", timestamp(process.facts.opened_ns)},
                 {"version", start.version},
                 {"policy_name", text_or_null(start.policy_name)},
                 {"policy_revision", text_or_null(start.policy_revision)},
                 {"policy_sha256", text_or_null(start.policy_sha256)},
                 {"default_precision", policy::to_string(start.default_precision)},
                 {"floor", policy::to_string(start.floor)},
                 {"cpu_mode", policy::to_string(start.cpu_mode)},
                 {"log_level", policy::to_string(start.log_level)},
                 {"pinned_by", facts.pins == 0 ? Json() : Json(record::entries_of(facts.pins))},
                 {"calls", process.calls},
                 {"uncounted_calls", process.uncounted_calls},
                 {"dropped_events", process.dropped_events},
                 {"overwritten_events", process.overwritten_events},
                 {"lost_changes", process.lost_changes}};
    json["changes"] = Json::array();
    for (const record::RecordedChange& change : process.changes) json["changes"].push_back(json_of(change));
    return json;
}

/// Returns a label and its value in Prometheus's text format.
std::string label(std::string_view name, std::string_view value) {
    std::string text = fmt::format("{}=\"", name);
    for (const char c : system::plain_text(system::with_valid_utf8(value), "\n")) {
        if (c == '\\' || c == '"') text += '\\';
        if (c == '\n')
            text += "\\n";
        else
            text += c;
    }
    return text + '"';
}

std::string metric(std::string_view name, std::string_view type, std::string_view help) {
    return fmt::format("# HELP {} {}\n# TYPE {} {}\n", name, help, name, type);
}

std::string asked_text(const MergedRow& row) {
    if (row.is_overflow) return row.requested;
    return fmt::format("{} ({})", row.requested,
                       row.rule.empty() ? row.source : fmt::format("rule \"{}\"", row.rule));
}

const TextColumn<MergedRow> call_site_columns[] = {
    {{"calls", true}, [](const MergedRow& row) { return count_text(row.counters.calls); }},
    {{"host time", true}, total_time_text},
    {{"mean", true, 0, detail_rank}, mean_time_text},
    {{"min", true, 0, spread_rank}, shortest_time_text, Shown::where_one_has_it},
    {{"median", true, 0, spread_rank}, median_time_text, Shown::where_one_has_it},
    {{"max", true, 0, spread_rank}, longest_time_text, Shown::where_one_has_it},
    {{"function"},
     [](const MergedRow& row) { return row.is_overflow ? "(found no room)" : std::string(row.function); }},
    {{"size"}, [](const MergedRow& row) { return row.size_text(); }},
    {{"trans"},
     [](const MergedRow& row) {
         std::string text;
         for (const char letter : {row.trans_a, row.trans_b}) text.append(letter == 0 ? 0 : 1, letter);
         return text;
     },
     Shown::where_they_differ},
    {{"GPU"},
     [](const MergedRow& row) { return row.device_index < 0 ? "" : fmt::format("{}", row.device_index); },
     Shown::where_they_differ},
    {{"scope", false, 12}, [](const MergedRow& row) { return std::string(row.scope); }, Shown::where_one_has_it},
    {{"caller -> provider", false, 26, place_rank}, [](const MergedRow& row) { return row.route_text(); }},
    {{"asked for", false, 22}, asked_text},
    {{"ran at"}, [](const MergedRow& row) { return row.is_overflow ? "unknown" : std::string(row.ran_at()); }},
    {{"reason"}, [](const MergedRow& row) { return std::string(row.reason); }},
};

}  // namespace

Table call_site_table(const std::vector<const MergedRow*>& rows, std::size_t limit) {
    const std::size_t shown = limit == 0 ? rows.size() : std::min(limit, rows.size());
    return table_of<MergedRow>(call_site_columns, std::span(rows.data(), shown));
}

namespace {

Table table_of_all(const std::vector<const MergedRow*>& rows, std::size_t limit) {
    return call_site_table(rows, limit);
}
Table table_of_all(const std::vector<const RowGroup*>& groups, std::size_t limit) {
    return group_table(groups, limit);
}

template <class Row>
void write_limited_table(const std::vector<const Row*>& rows, const TableLimits& limits, int stream,
                         const TextSink& put) {
    table_of_all(rows, limits.sites).write(put, stream);
    if (limits.sites != 0 && rows.size() > limits.sites) {
        put(fmt::format("{} more; {}\n",
                        counted(rows.size() - limits.sites, std::is_same_v<Row, RowGroup> ? "group" : "row"),
                        limits.how_to_see_more));
    }
}

/// Writes a table of all rows, and one of those that did not run as asked.
template <class Row>
void write_tables(const std::vector<const Row*>& rows, bool (*is_refused)(const Row*), const TableLimits& limits,
                  int stream, const TextSink& put) {
    if (rows.empty()) return;
    put("\n");
    write_limited_table(rows, limits, stream, put);
    std::vector<const Row*> refused;
    std::copy_if(rows.begin(), rows.end(), std::back_inserter(refused), is_refused);
    if (refused.empty()) return;
    put("\n" + coloured("Asked for, and not done as asked", Colour::bold, stream));
    if (refused.size() == rows.size()) return put(": all of these calls\n");
    put("\n");
    write_limited_table(refused, limits, stream, put);
}

}  // namespace

void write_report_table(const MergedCalls& calls, const TableLimits& limits, int stream, const TextSink& put,
                        const std::vector<RowGroup>* groups) {
    put(head_text(calls) + all_settings_text(calls));
    const auto section = [&](const std::string& title, const std::string& body) {
        if (body.empty()) return;
        put(fmt::format("\n{}{}{}", coloured(title, Colour::bold, stream), title.empty() ? "" : "\n", body));
    };
    section("", format_text(calls, stream));
    if (groups == nullptr) {
        write_tables<MergedRow>(
            sorted(calls.rows(), limits.order), [](const MergedRow* row) { return row->is_refused(); }, limits,
            stream, put);
    } else {
        std::vector<const RowGroup*> all;
        for (const RowGroup& group : *groups) all.push_back(&group);
        write_tables<RowGroup>(
            all, [](const RowGroup* group) { return group->is_refused; }, limits, stream, put);
    }
    section("Changed while it ran", all_changes_text(calls));
    section("Not complete", missing_text(calls));
    if (calls.total().is_estimate) section("", "~: estimated, since of short calls only some are timed\n");
}

std::string report_table(const MergedCalls& calls, const TableLimits& limits, int stream) {
    std::string text;
    write_report_table(calls, limits, stream, [&](std::string_view piece) { text += piece; });
    return text;
}

namespace {

/// Returns the report's members before its rows. If `groups` is not null, the report has groups and no rows.
Json head_json(const MergedCalls& calls, const std::vector<RowGroup>* groups) {
    Json json;
    json["schema"] = 1;
    json["totals"] = json_of(calls.total());
    json["totals"]["recordings"] = calls.processes().size();
    json["totals"]["hosts"] = host_count(calls);
    json["totals"]["first"] = time_or_null(calls.first_ns());
    json["totals"]["last"] = time_or_null(calls.last_ns());
    json["totals"]["uncounted_calls"] = calls.uncounted_calls();
    json["totals"]["dropped_events"] = calls.dropped_events();
    json["totals"]["overwritten_events"] = calls.overwritten_events();
    json["totals"]["lost_changes"] = calls.lost_changes();
    json["by_format"] = Json::object();
    for (const auto& [format, share] : calls.by_format()) json["by_format"][format] = json_of(share);
    json["groups"] = groups == nullptr ? Json() : groups_json(*groups);
    if (groups != nullptr) json["rows"] = Json();
    return json;
}

/// Writes an array as a member of the report's object, like json_text(). `write_element` appends an entry to a text.
template <class Entries, class WriteElement>
bool write_array(std::string_view name, const Entries& entries, const WriteElement& write_element,
                 ReportOutput& output) {
    std::string text = fmt::format(",\n  \"{}\": [", name);
    bool is_first = true;
    for (const auto& entry : entries) {
        text += std::exchange(is_first, false) ? "\n    " : ",\n    ";
        write_element(text, entry);
        if (!output.put(text)) return false;
        text.clear();
    }
    return output.put(text + (is_first ? "]" : "\n  ]"));
}

/// Appends `json`, indented, each line but the first behind four blanks.
void append_indented(std::string& text, const Json& json) {
    for (const char c : dumped(json, 2)) {
        text += c;
        if (c == '\n') text += "    ";
    }
}

}  // namespace

void write_report_json(const MergedCalls& calls, const std::vector<RowGroup>* groups, ReportOutput& output) {
    std::string head = json_text(head_json(calls, groups));
    head.resize(head.rfind("\n}"));
    output.put(head);
    const auto write_row = [](std::string& text, const MergedRow* row) { append_json(text, *row, 4); };
    const auto write_process = [](std::string& text, const MergedProcess& process) {
        append_indented(text, json_of(process));
    };
    const bool has_rows =
        groups != nullptr || write_array("rows", sorted(calls.rows(), RowOrder::time), write_row, output);
    if (has_rows && write_array("processes", calls.processes(), write_process, output)) output.put("\n}\n");
}

void write_report_csv(const MergedCalls& calls, ReportOutput& output) {
    std::string text = csv_names(decision_columns()) + ',' + csv_names(count_columns()) + "\r\n";
    if (!output.put(text)) return;
    for (const MergedRow* row : sorted(calls.rows(), RowOrder::time)) {
        text.clear();
        append_csv(text, decision_columns(), *row);
        text += ',';
        append_csv(text, count_columns(), *row);
        if (!output.put(text += "\r\n")) return;
    }
}

std::string report_prometheus(const MergedCalls& calls) {
    std::map<std::string, Share> by_labels;
    for (const MergedRow& row : calls.rows()) {
        const std::string labels =
            fmt::format("{{{},{},{},{},{},{}}}", label("function", row.function), label("device", row.device),
                        label("dtype", row.dtype), label("requested", row.requested),
                        label("applied", row.is_overflow ? "unknown" : std::string_view(row.ran_at())),
                        label("reason", row.reason));
        by_labels[labels].add(row.counters);
    }
    std::string text =
        metric("fp32shim_calls_total", "counter", "Matrix products, by what was asked for and applied.");
    for (const auto& [labels, share] : by_labels)
        text += fmt::format("fp32shim_calls_total{} {}\n", labels, share.calls);
    text += metric("fp32shim_timed_calls_total", "counter", "Those of them whose time was measured.");
    for (const auto& [labels, share] : by_labels)
        text += fmt::format("fp32shim_timed_calls_total{} {}\n", labels, share.timed_calls);
    text += metric("fp32shim_host_seconds_total", "counter",
                   "Time in those calls on the host; of products on CUDA, of their launch. An estimate where fewer "
                   "calls were timed than made.");
    for (const auto& [labels, share] : by_labels) {
        text +=
            fmt::format("fp32shim_host_seconds_total{} {:.9f}\n", labels, static_cast<double>(share.host_ns) / 1e9);
    }
    const auto single = [&text](std::string_view name, std::string_view type, std::string_view help,
                                std::uint64_t value) {
        text += metric(name, type, help) + fmt::format("{} {}\n", name, value);
    };
    single("fp32shim_recordings", "gauge", "Recordings that were read.", calls.processes().size());
    single("fp32shim_uncounted_calls_total", "counter", "Calls of which nothing but their number is known.",
           calls.uncounted_calls());
    single("fp32shim_dropped_events_total", "counter", "Events that found no room in a recording.",
           calls.dropped_events());
    single("fp32shim_overwritten_events_total", "counter", "Events that were overwritten by later ones.",
           calls.overwritten_events());
    return text;
}

}  // namespace fp32shim::cli
