#include "cli/report/diff/write_comparison.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <span>
#include <vector>

#include "cli/output/json.hpp"
#include "cli/report/json_document.hpp"
#include "cli/report/path_formats.hpp"
#include "cli/report/timeline.hpp"
#include "system/inline_text.hpp"

namespace fp32shim::cli {
namespace {

/// Returns a change with its sign and its percentage of the first value: `-41 ms (-42%)`.
std::string text_of_change(double before, double after, const std::function<std::string(double)>& text) {
    const double change = after - before;
    std::string result = (change < 0 ? "-" : "+") + text(std::abs(change));
    if (before > 0 && after >= 10 * before)
        result += fmt::format(" (x{:.0f})", after / before);
    else if (before > 0 && change != 0)
        result += fmt::format(" ({:+.0f}%)", 100 * change / before);
    return result;
}

std::string time_text(double ns) { return duration_text(ns); }
std::string number_text(double count) { return count_text(static_cast<std::uint64_t>(count)); }

std::string formats_share_text(const MergedCalls& calls) {
    ComparedCalls all;
    static_cast<Share&>(all) = calls.total();
    for (const auto& [format, share] : calls.by_format()) all.formats[format] = share.calls;
    return all.formats_text();
}

void write_sides(const Comparison& comparison, int stream, const TextSink& put) {
    const MergedCalls &before = comparison.before().calls, &after = comparison.after().calls;
    Table table({{""}, {"calls", true}, {"host time", true}, {"ran at", false, 8}, {"program", false, 20}});
    const auto add = [&table](std::string name, const MergedCalls& calls) {
        const Share total = calls.total();
        table.add({std::move(name), count_text(total.calls),
                   duration_text(static_cast<double>(total.host_ns), total.is_estimate), formats_share_text(calls),
                   command_of(calls)});
    };
    add("before", before);
    add("after", after);
    const auto number = [](std::uint64_t value) { return static_cast<double>(value); };
    table.add({"change", text_of_change(number(before.total().calls), number(after.total().calls), number_text),
               text_of_change(number(before.total().host_ns), number(after.total().host_ns), time_text), "", ""});
    table.write(put, stream);
}

std::string ran_text(const ComparedGroup& group) {
    const std::string before = group.before.formats_text(), after = group.after.formats_text();
    if (before.empty()) return after + ", new";
    if (after.empty()) return before + ", gone";
    return before == after ? before : fmt::format("{} -> {}", before, after);
}

Table table_of(const Comparison& comparison, const std::vector<const ComparedGroup*>& groups) {
    std::vector<Table::Column> columns = {
        {"calls before", true}, {"after", true}, {"time before", true}, {"after", true}, {"change", true}};
    std::vector<const ComparedKey*> keys;
    for (const ComparedKey& key : compared_keys) {
        if (!(comparison.grouping().*key.is_asked)) continue;
        keys.push_back(&key);
        columns.push_back({key.title, false, 16});
    }
    columns.push_back({"ran at"});
    Table table(std::move(columns));
    for (const ComparedGroup* group : groups) {
        const Share &before = group->before, &after = group->after;
        const auto before_ns = static_cast<double>(before.host_ns), after_ns = static_cast<double>(after.host_ns);
        std::vector<std::string> cells = {
            count_text(before.calls), count_text(after.calls), duration_text(before_ns, before.is_estimate),
            duration_text(after_ns, after.is_estimate), text_of_change(before_ns, after_ns, time_text)};
        for (const ComparedKey* key : keys) {
            const std::string text = group->*key->text;
            cells.push_back(text.empty() ? "-" : text);
        }
        cells.push_back(ran_text(*group));
        table.add(std::move(cells));
    }
    return table;
}

void write_groups(const Comparison& comparison, std::vector<const ComparedGroup*> groups, std::size_t limit,
                  int stream, const TextSink& put) {
    const std::size_t all = groups.size();
    if (limit != 0 && all > limit) groups.resize(limit);
    put("\n");
    table_of(comparison, groups).write(put, stream);
    if (groups.size() < all) put(fmt::format("{}; --top 0 shows all\n", counted(all - groups.size(), "more group")));
}

Json side_json(const ComparedSide& side) {
    Json json = {{"calls", side.calls.total().calls},
                 {"host_ns", side.calls.total().host_ns},
                 {"timed_calls", side.calls.total().timed_calls},
                 {"command", text_or_null(command_of(side.calls))},
                 {"recordings", Json::array()},
                 {"by_format", Json::object()}};
    for (const MergedProcess& process : side.calls.processes()) json["recordings"].push_back(process.path);
    for (const auto& [format, share] : side.calls.by_format())
        json["by_format"][format] = {{"calls", share.calls}, {"host_ns", share.host_ns}};
    return json;
}

/// Calls of one path on both sides.
struct ComparedPath {
    std::uint32_t node = 0;
    ComparedCalls before, after;
};

std::vector<ComparedPath> paths_of(const Comparison& comparison) {
    std::vector<ComparedPath> paths;
    for (const PathCalls& part : comparison.paths().calls()) {
        if (paths.empty() || paths.back().node != part.node) paths.push_back({part.node, {}, {}});
        ComparedPath& path = paths.back();
        (comparison.is_after(part) ? path.after : path.before).add(comparison.row_of(part), part.counters);
    }
    return paths;
}

Json calls_json(const ComparedCalls& calls) {
    return {{"calls", calls.calls},
            {"host_ns", calls.host_ns},
            {"timed_calls", calls.timed_calls},
            {"flops_total", calls.work},
            {"applied", calls.formats}};
}

}  // namespace

std::string command_of(const MergedCalls& calls) {
    std::vector<std::string> commands;
    for (const MergedProcess& process : calls.processes()) {
        const record::ProcessFacts& facts = process.facts.process;
        const std::string& text = facts.command.empty() ? facts.executable : facts.command;
        if (std::ranges::find(commands, text) == commands.end()) commands.push_back(text);
    }
    return listed(commands, 2);
}

void write_diff_table(const Comparison& comparison, std::size_t limit, int stream, const TextSink& put) {
    write_sides(comparison, stream, put);
    std::vector<const ComparedGroup*> all, otherwise;
    for (const ComparedGroup& group : comparison.groups()) {
        all.push_back(&group);
        if (group.ran_differently()) otherwise.push_back(&group);
    }
    if (all.empty()) return;
    write_groups(comparison, all, limit, stream, put);
    if (!otherwise.empty()) {
        put("\n" + coloured("Ran at another precision", Colour::bold, stream));
        if (otherwise.size() == all.size())
            put(": all of these\n");
        else
            write_groups(comparison, otherwise, limit, stream, put);
    }
    const auto& files = comparison.changed_files();
    if (files.empty()) return;
    const std::vector<std::string> names(files.begin(), files.end());
    put(fmt::format(
        "\nCompared without lines or offsets, because calls of the same functions are at different ones: {}\n",
        printable(listed(names, 5))));
}

void write_diff_json(const Comparison& comparison, ReportOutput& output) {
    JsonDocument document(output);
    document.add_members({{"schema", 1},
                          {"before", side_json(comparison.before())},
                          {"after", side_json(comparison.after())},
                          {"changed_files", comparison.changed_files()}});
    const auto write_group = [](JsonText& text, const ComparedGroup& group) {
        Json json = to_json(compared_columns(), group);
        json["applied_before"] = group.before.formats;
        json["applied_after"] = group.after.formats;
        text.json(json);
    };
    const auto write_frame = [](JsonText& text, const PathNode& node) { text.json(frame_json(node)); };
    const auto write_path = [](JsonText& text, const ComparedPath& path) {
        text.json({{"frame", path.node - 1}, {"before", calls_json(path.before)}, {"after", calls_json(path.after)}});
    };
    document.add_array("groups", comparison.groups(), write_group);
    document.add_array("frames", std::span(comparison.paths().nodes()).subspan(1), write_frame);
    document.add_array("stacks", paths_of(comparison), write_path);
    document.finish();
}

void write_diff_csv(const Comparison& comparison, ReportOutput& output) {
    output.put(csv_names(compared_columns()) + ",applied_before,applied_after\r\n");
    std::string text;
    for (const ComparedGroup& group : comparison.groups()) {
        text.clear();
        append_csv(text, compared_columns(), group);
        text += ',' + csv_text(group.before.formats_text()) + ',' + csv_text(group.after.formats_text()) + "\r\n";
        if (!output.put(text)) return;
    }
}

void write_diff_folded(const Comparison& comparison, ReportOutput& output) {
    for (const ComparedPath& path : paths_of(comparison)) {
        const std::string line =
            fmt::format("{} {:.0f} {:.0f}\n", folded_line(comparison.paths(), path.node),
                        path.before.weight(comparison.order()), path.after.weight(comparison.order()));
        if (!output.put(line)) return;
    }
}

}  // namespace fp32shim::cli
