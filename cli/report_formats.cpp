#include "cli/report_formats.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <set>
#include <utility>

#include "cli/moment.hpp"
#include "cli/process_text.hpp"

namespace fp32shim::cli {
namespace {

std::string percent(std::uint64_t part, std::uint64_t whole) {
    return whole == 0 ? "" : fmt::format("{:.1f}%", 100.0 * static_cast<double>(part) / static_cast<double>(whole));
}

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
                    duration_text(static_cast<double>(total.host_ns)));
    if (calls.first_ns() != 0) {
        text += fmt::format(", {:.19}Z to {:.19}Z", timestamp(calls.first_ns()), timestamp(calls.last_ns()));
    }
    return text + "\n";
}

/// One line for each policy, and for the settings of processes that have none.
std::string all_settings_text(const MergedCalls& calls) {
    std::map<std::string, std::uint64_t> settings;
    for (const MergedProcess& process : calls.processes()) {
        const record::StartEvent& start = process.facts.start;
        std::string line = settings_text(start);
        if (!start.policy_sha256.empty()) {
            line += fmt::format(", policy {}, sha256 {:.12}",
                                policy_text(start.policy_name, start.policy_revision, start.policy_sha256),
                                start.policy_sha256);
        }
        ++settings[printable(line)];
    }
    std::string text;
    for (const auto& [line, count] : settings) {
        text += settings.size() == 1 ? line + "\n" : fmt::format("{} ({})\n", line, counted(count, "recording"));
    }
    return text;
}

std::string format_text(const MergedCalls& calls, int stream) {
    const Share total = calls.total();
    std::string text;
    const auto& shares = calls.by_format();
    if (shares.empty()) return text;
    text += coloured(fmt::format("{:<10} {:>15} {:>7} {:>12} {:>7}", "ran at", "calls", "", "host time", ""),
                     Colour::bold, stream) +
            "\n";
    for (const auto& [format, share] : shares) {
        text += fmt::format("{} {:>15} {:>7} {:>12} {:>7}\n",
                            coloured(fmt::format("{:<10}", format), colour_of_format(format), stream),
                            count_text(share.calls), percent(share.calls, total.calls),
                            duration_text(static_cast<double>(share.host_ns)), percent(share.host_ns, total.host_ns));
    }
    return text;
}

std::string all_changes_text(const MergedCalls& calls) {
    std::string text;
    for (const MergedProcess& process : calls.processes()) {
        for (const record::RecordedChange& change : process.changes) {
            const bool by_command = change.origin == record::format::ChangeOrigin::command;
            text += fmt::format("{} process {}: {} ({}{}{})\n", timestamp(change.time_ns), process.facts.process.pid,
                                printable(change_text(change)), by_command ? "fp32shim command" : "the program",
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
    for (const MergedProcess& process : calls.processes()) {
        if (const std::string why = early_end_text(process.facts); !why.empty())
            text += fmt::format("{}: {}\n", printable(process.path), why);
    }
    return text;
}

Json size_or_null(std::int64_t size) { return size < 0 ? Json() : Json(size); }

Json json_of(const Share& share) { return {{"calls", share.calls}, {"host_ns", share.host_ns}}; }

Json time_or_null(std::int64_t time_ns) { return time_ns == 0 ? Json() : Json(timestamp(time_ns)); }

Json json_of(const record::RecordedChange& change) {
    using record::format::ChangeKind;
    Json json = {{"time", timestamp(change.time_ns)},
                 {"kind", change.kind == ChangeKind::set_precision ? "set_precision"
                          : change.kind == ChangeKind::set_floor   ? "set_floor"
                                                                   : "reload"},
                 {"by", change.origin == record::format::ChangeOrigin::command ? "command" : "program"},
                 {"done", change.was_done}};
    json["precision"] = change.precision ? Json(policy::to_string(*change.precision)) : Json();
    json["floor"] = change.kind == ChangeKind::set_floor ? Json(policy::to_string(change.floor)) : Json();
    json["policy_name"] = text_or_null(change.policy_name);
    json["policy_revision"] = text_or_null(change.policy_revision);
    json["policy_sha256"] = text_or_null(change.policy_sha256);
    json["message"] = text_or_null(change.message);
    return json;
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
                 {"forked_from", start.forked_from == 0 ? Json() : Json(start.forked_from)},
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
                 {"calls", process.calls},
                 {"uncounted_calls", process.uncounted_calls},
                 {"dropped_events", process.dropped_events},
                 {"overwritten_events", process.overwritten_events}};
    json["changes"] = Json::array();
    for (const record::RecordedChange& change : process.changes) json["changes"].push_back(json_of(change));
    return json;
}

std::string number_or_nothing(std::int64_t number) { return number < 0 ? std::string() : fmt::format("{}", number); }

/// The columns of the CSV, in their order.
struct CsvColumn {
    const char* name;
    std::string (*value)(const MergedRow& row);
};
constexpr CsvColumn csv_columns[] = {
    {"function", [](const MergedRow& row) { return row.function; }},
    {"dtype", [](const MergedRow& row) { return row.dtype; }},
    {"device", [](const MergedRow& row) { return row.device; }},
    {"device_index", [](const MergedRow& row) { return number_or_nothing(row.device_index); }},
    {"compute_capability", [](const MergedRow& row) { return row.compute_capability; }},
    {"trans_a", [](const MergedRow& row) { return row.trans_a; }},
    {"trans_b", [](const MergedRow& row) { return row.trans_b; }},
    {"m", [](const MergedRow& row) { return number_or_nothing(row.m); }},
    {"n", [](const MergedRow& row) { return number_or_nothing(row.n); }},
    {"k", [](const MergedRow& row) { return number_or_nothing(row.k); }},
    {"batch", [](const MergedRow& row) { return row.is_overflow ? std::string() : fmt::format("{}", row.batch); }},
    {"caller", [](const MergedRow& row) { return row.caller; }},
    {"scope", [](const MergedRow& row) { return row.scope; }},
    {"provider", [](const MergedRow& row) { return row.provider; }},
    {"requested", [](const MergedRow& row) { return row.requested; }},
    {"source", [](const MergedRow& row) { return row.source; }},
    {"rule", [](const MergedRow& row) { return row.rule; }},
    {"applied", [](const MergedRow& row) { return row.applied; }},
    {"actual", [](const MergedRow& row) { return row.actual; }},
    {"how", [](const MergedRow& row) { return row.how; }},
    {"reason", [](const MergedRow& row) { return row.reason; }},
    {"detail", [](const MergedRow& row) { return row.detail; }},
    {"status", [](const MergedRow& row) { return row.status ? fmt::format("{}", *row.status) : std::string(); }},
    {"sizes_folded", [](const MergedRow& row) { return std::string(row.is_folded ? "true" : "false"); }},
    {"flops", [](const MergedRow& row) { return row.flops < 0 ? std::string() : fmt::format("{:.17g}", row.flops); }},
    {"processes", [](const MergedRow& row) { return fmt::format("{}", row.processes); }},
    {"calls", [](const MergedRow& row) { return fmt::format("{}", row.counters.calls); }},
    {"host_ns", [](const MergedRow& row) { return fmt::format("{}", row.counters.total_ns); }},
    {"host_ns_min", [](const MergedRow& row) { return fmt::format("{}", row.counters.shortest_ns); }},
    {"host_ns_max", [](const MergedRow& row) { return fmt::format("{}", row.counters.longest_ns); }},
    {"first", [](const MergedRow& row) { return timestamp(row.counters.first_ns); }},
    {"last", [](const MergedRow& row) { return timestamp(row.counters.last_ns); }},
};

/// A label's value in Prometheus's text format.
std::string label(std::string_view name, std::string_view value) {
    std::string text = fmt::format("{}=\"", name);
    for (const char c : value) {
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

}  // namespace

Table call_site_table(const std::vector<const MergedRow*>& rows, std::size_t limit) {
    Table table({{"calls", true},
                 {"host time", true},
                 {"mean", true},
                 {"function"},
                 {"size"},
                 {"caller -> provider"},
                 {"asked for"},
                 {"ran at"},
                 {"reason"}});
    for (std::size_t i = 0; i < rows.size() && (limit == 0 || i < limit); ++i) {
        const MergedRow& row = *rows[i];
        const auto total = static_cast<double>(row.counters.total_ns);
        std::string asked = row.requested;
        if (!row.rule.empty())
            asked += fmt::format(" (rule \"{}\")", row.rule);
        else if (!row.is_overflow)
            asked += fmt::format(" ({})", row.source);
        table.add({count_text(row.counters.calls), duration_text(total),
                   duration_text(total / static_cast<double>(std::max<std::uint64_t>(row.counters.calls, 1))),
                   row.is_overflow ? "(found no room)" : row.function, row.size_text(), row.route_text(), asked,
                   row.is_overflow ? "unknown" : row.ran_at(), row.reason});
    }
    return table;
}

std::string report_table(const MergedCalls& calls, const TableLimits& limits, int stream) {
    std::string text = head_text(calls) + all_settings_text(calls);
    const auto section = [&](const std::string& title, const std::string& body) {
        if (body.empty()) return;
        text += fmt::format("\n{}{}{}", coloured(title, Colour::bold, stream), title.empty() ? "" : "\n", body);
    };
    section("", format_text(calls, stream));
    const auto rows = sorted(calls.rows(), limits.order);
    if (!rows.empty()) {
        std::string body = call_site_table(rows, limits.sites).text(stream);
        if (limits.sites != 0 && rows.size() > limits.sites) {
            body += fmt::format("{} more\n", counted(rows.size() - limits.sites, "row"));
        }
        section("", body);
    }
    std::vector<const MergedRow*> refused;
    std::copy_if(rows.begin(), rows.end(), std::back_inserter(refused),
                 [](const MergedRow* row) { return row->is_refused(); });
    if (!refused.empty()) {
        std::string body = call_site_table(refused, limits.sites).text(stream);
        if (limits.sites != 0 && refused.size() > limits.sites) {
            body += fmt::format("{} more\n", counted(refused.size() - limits.sites, "row"));
        }
        section("Asked for, and not done as asked", body);
    }
    section("Changed while it ran", all_changes_text(calls));
    section("Not complete", missing_text(calls));
    return text;
}

Json json_of(const MergedRow& row) {
    const bool is_known = !row.is_overflow;
    Json json;
    json["function"] = text_or_null(row.function);
    json["dtype"] = text_or_null(row.dtype);
    json["device"] = text_or_null(row.device);
    json["device_index"] = row.device_index < 0 ? Json() : Json(row.device_index);
    json["compute_capability"] = text_or_null(row.compute_capability);
    json["trans_a"] = text_or_null(row.trans_a);
    json["trans_b"] = text_or_null(row.trans_b);
    json["m"] = size_or_null(row.m);
    json["n"] = size_or_null(row.n);
    json["k"] = size_or_null(row.k);
    json["batch"] = is_known ? Json(row.batch) : Json();
    json["caller"] = text_or_null(row.caller);
    json["scope"] = text_or_null(row.scope);
    json["provider"] = text_or_null(row.provider);
    json["requested"] = text_or_null(row.requested);
    json["source"] = text_or_null(row.source);
    json["rule"] = text_or_null(row.rule);
    json["applied"] = text_or_null(row.applied);
    json["actual"] = text_or_null(row.actual);
    json["how"] = text_or_null(row.how);
    json["reason"] = text_or_null(row.reason);
    json["detail"] = text_or_null(row.detail);
    json["status"] = row.status ? Json(*row.status) : Json();
    json["sizes_folded"] = row.is_folded;
    json["flops"] = row.flops < 0 ? Json() : Json(row.flops);
    json["processes"] = row.processes;
    json["calls"] = row.counters.calls;
    json["host_ns"] = row.counters.total_ns;
    json["timed_calls"] = row.counters.timed_calls;
    json["host_ns_min"] = row.counters.shortest_ns;
    json["host_ns_max"] = row.counters.longest_ns;
    json["first"] = time_or_null(row.counters.first_ns);
    json["last"] = time_or_null(row.counters.last_ns);
    return json;
}

Json report_json(const MergedCalls& calls) {
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
    json["by_format"] = Json::object();
    for (const auto& [format, share] : calls.by_format()) json["by_format"][format] = json_of(share);
    json["rows"] = Json::array();
    for (const MergedRow* row : sorted(calls.rows(), RowOrder::time)) json["rows"].push_back(json_of(*row));
    json["processes"] = Json::array();
    for (const MergedProcess& process : calls.processes()) json["processes"].push_back(json_of(process));
    return json;
}

std::string csv_field(const std::string& text) {
    if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
    std::string quoted = "\"";
    for (const char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
    return quoted + '"';
}

std::string report_csv(const MergedCalls& calls) {
    std::string text;
    const auto line = [&text](const auto& cell) {
        bool is_first = true;
        for (const CsvColumn& column : csv_columns) {
            if (!std::exchange(is_first, false)) text += ',';
            text += csv_field(cell(column));
        }
        text += "\r\n";
    };
    line([](const CsvColumn& column) { return std::string(column.name); });
    for (const MergedRow* row : sorted(calls.rows(), RowOrder::time)) {
        line([row](const CsvColumn& column) { return column.value(*row); });
    }
    return text;
}

std::string report_prometheus(const MergedCalls& calls) {
    std::map<std::string, Share> by_labels;
    for (const MergedRow& row : calls.rows()) {
        const std::string labels =
            fmt::format("{{{},{},{},{},{},{}}}", label("function", row.function), label("device", row.device),
                        label("dtype", row.dtype), label("requested", row.requested),
                        label("applied", row.is_overflow ? "unknown" : row.ran_at()), label("reason", row.reason));
        by_labels[labels].calls += row.counters.calls;
        by_labels[labels].host_ns += row.counters.total_ns;
    }
    std::string text =
        metric("fp32shim_calls_total", "counter", "Matrix products, by what was asked for and applied.");
    for (const auto& [labels, share] : by_labels)
        text += fmt::format("fp32shim_calls_total{} {}\n", labels, share.calls);
    text += metric("fp32shim_host_seconds_total", "counter",
                   "Time in those calls on the host; of products on CUDA, of their launch.");
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
    return text;
}

}  // namespace fp32shim::cli
