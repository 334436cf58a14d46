// Writes the document of `fp32shim report --format json`, and CSV, which has the same rows.

#include <span>

#include "cli/output/json.hpp"
#include "cli/output/json_writer.hpp"
#include "cli/output/moment.hpp"
#include "cli/recordings/algorithms.hpp"
#include "cli/recordings/csv_and_json_columns.hpp"
#include "cli/report/output_file.hpp"
#include "cli/report/report_formats.hpp"
#include "policy/words.hpp"
#include "record/pinned_variables.hpp"

namespace fp32shim::cli {
namespace {

Json share_json(const CallSum& share) {
    return {{"calls", share.calls},
            {"host_ns", share.host_ns},
            {"timed_calls", share.timed_calls},
            {"flops_total", share.work}};
}

constexpr policy::NamedValue<record::format::SettingsChangeOrigin> origin_words[] = {
    {"command", record::format::SettingsChangeOrigin::command},
    {"program", record::format::SettingsChangeOrigin::program},
    {"carried_over", record::format::SettingsChangeOrigin::carried_over},
};
Json change_json(const record::RecordedSettingsChange& change) {
    using record::format::SettingsChangeKind;
    return {{"time", timestamp(change.time_ns)},
            {"kind", change.kind == SettingsChangeKind::set_precision ? "set_precision"
                     : change.kind == SettingsChangeKind::set_floor   ? "set_floor"
                                                                      : "reload"},
            {"by", text_or_null(policy::name_of(origin_words, change.origin))},
            {"done", change.was_done},
            {"precision", change.precision ? Json(policy::to_string(*change.precision)) : Json()},
            {"floor", change.kind == SettingsChangeKind::set_floor ? Json(policy::to_string(change.floor)) : Json()},
            {"policy_name", text_or_null(change.policy_name)},
            {"policy_revision", text_or_null(change.policy_revision)},
            {"policy_sha256", text_or_null(change.policy_sha256)},
            {"message", text_or_null(change.message)}};
}

Json process_json(const MergedProcess& process) {
    Json json = json_object_of_row(process_columns(), process);
    json.update(json_object_of_row(further_process_columns(), process));
    const std::uint16_t pins = process.facts.process.pins;
    json["where"] = text_or_null(policy::to_string(process.facts.start.where));
    json["pinned_by"] = pins == 0 ? Json() : Json(record::pinned_entries(pins));
    json["wall_ns"] = process.facts.wall_ns() > 0 ? Json(process.facts.wall_ns()) : Json();
    json["host_ns"] = process.host_ns;
    json["environment"] = environment_json(process.environment);
    json["calls"] = process.calls;
    json["changes"] = json_list(process.changes, change_json);
    return json;
}

Json exponents_json(const record::ExponentRange& exponents) {
    return exponents.lowest > exponents.highest ? Json() : Json({exponents.lowest, exponents.highest});
}

/// Returns the JSON members that identify an audited product.
Json product_json(const MergedRow& row) {
    static const auto columns = row_columns_named(
        {"function", "m", "n", "k", "batch", "caller", "scope", "where", "applied", "source", "reason"});
    return json_object_of_row<MergedRow>(columns, row);
}

Json first_nonfinite_json(const MergedCalls& calls, const FirstNonfiniteProduct& nonfinite) {
    const MergedProcess& process = calls.processes()[nonfinite.process];
    const record::Audit& found = nonfinite.found.audit;
    Json json = {{"time", FieldValue::time_or_null(nonfinite.found.end_ns).to_json()},
                 {"recording", process.path},
                 {"pid", process.facts.process.pid},
                 {"host", text_or_null(process.facts.process.host)}};
    json.update(product_json(calls.rows()[nonfinite.row]));
    json.update({{"found", nonfinite_text(found, "nan")},
                 {"row", found.worst_row},
                 {"column", found.worst_column},
                 {"product", found.product},
                 {"alpha", number_or_null(static_cast<double>(found.alpha))},
                 {"beta", number_or_null(static_cast<double>(found.beta))},
                 {"exponents", {{"a", exponents_json(found.a)}, {"b", exponents_json(found.b)}}}});
    return json;
}

Json first_received_json(const MergedCalls& calls, const FirstNonfiniteProduct& received) {
    Json json = first_nonfinite_json(calls, received);
    const std::string_view operand = record::nonfinite_operand_name(received.found.audit);
    json["operand"] = operand == "?" ? Json() : Json(operand);
    for (const char* const key : {"alpha", "beta", "exponents"}) json.erase(key);
    if (operand.size() > 1) json["row"] = json["column"] = Json();
    return json;
}

Json optional_json(const std::optional<double>& number) { return number ? number_or_null(*number) : Json(); }

/// Returns the summary of a row's audits as JSON. An error that is infinite becomes null, since JSON has no infinity.
Json audits_json(const MergedCalls& calls, const AuditSummary& audits) {
    const MergedRow& row = calls.rows()[audits.row];
    Json json = product_json(row);
    json.update({{"calls", row.counters.calls},
                 {"host_ns", row.counters.total_ns},
                 {"tested", policy::to_string(audits.tested)},
                 {"reference", policy::to_string(audits.reference)},
                 {"audits", audits.compared},
                 {"early_audits", audits.not_noted > 0 ? Json() : Json(audits.early)},
                 {"beyond", audits.beyond},
                 {"early_beyond", audits.not_noted > 0 ? Json() : Json(audits.early_beyond)},
                 {"beyond_at_most", optional_json(audits.largest_share_beyond_tolerance(row.counters.calls))},
                 {"skipped", audits.skipped},
                 {"bad_operands", audits.bad_operands},
                 {"bad_results", audits.bad_results}});
    for (const auto& [key, error] : record::audit_errors) {
        const double mean = audits.compared == 0 ? 0 : audits.sum.*error / static_cast<double>(audits.compared);
        json[std::string(key)] = {
            {"worst", number_or_null(audits.worst.*error)},
            {"mean", number_or_null(mean)},
            {"estimated_mean", optional_json(audits.estimated_mean(error, row.counters.calls))}};
    }
    const auto known = [](bool is_known, float number) {
        return is_known ? number_or_null(static_cast<double>(number)) : Json();
    };
    json["cancellation"] = known(audits.cancellation > 0, audits.cancellation);
    json["fp32_error"] = known(audits.checked > 0, audits.fp32_error);
    json["tested_error"] = known(audits.checked > 0, audits.tested_error);
    json["noise"] = audits.noise;
    json["worst_row"] = audits.worst_row;
    json["worst_column"] = audits.worst_column;
    json["exponents"] = {
        {"a", exponents_json(audits.a)}, {"b", exponents_json(audits.b)}, {"c", exponents_json(audits.c)}};
    return json;
}

constexpr Column<PathNode> frame_columns[] = {
    {"parent", [](const PathNode& node) { return node.parent == 0 ? FieldValue() : FieldValue(node.parent - 1); }},
    {"file", [](const PathNode& node) { return FieldValue::text_or_null(node.file); }},
    {"function", [](const PathNode& node) { return FieldValue::text_or_null(node.function); }},
    {"line", [](const PathNode& node) { return node.line == 0 ? FieldValue() : FieldValue(node.line); }},
    {"offset", [](const PathNode& node) { return node.offset == 0 ? FieldValue() : FieldValue(node.offset); }},
    {"call_site", [](const PathNode& node) { return FieldValue::text_or_null(node.call_site); }},
};

constexpr Column<PathShare> stack_columns[] = {
    {"frame", [](const PathShare& share) { return FieldValue(share.node - 1); }},
    {"applied", [](const PathShare& share) { return FieldValue(std::string_view(share.format)); }},
    {"calls", [](const PathShare& share) { return FieldValue(share.calls); }},
    {"host_ns", [](const PathShare& share) { return FieldValue(share.host_ns); }},
    {"timed_calls", [](const PathShare& share) { return FieldValue(share.timed_calls); }},
    {"flops_total", [](const PathShare& share) { return FieldValue(share.work); }},
};

}  // namespace

Json report_head_json(const MergedCalls& calls) {
    Json json;
    json["schema"] = 1;
    json["totals"] = share_json(calls.total());
    json["totals"]["calls_without_flops"] = calls.calls_without_work();
    json["totals"]["decisions"] = calls.rows().size();
    json["totals"]["recordings"] = calls.recording_count();
    json["totals"]["hosts"] = calls.host_count();
    json["totals"]["opened"] = FieldValue::time_or_null(calls.earliest_opening_ns()).to_json();
    json["totals"]["first"] = FieldValue::time_or_null(calls.first_return_ns()).to_json();
    json["totals"]["last"] = FieldValue::time_or_null(calls.last_return_ns()).to_json();
    json["totals"]["vector_calls"] = calls.vector_products().calls;
    json["totals"]["uncounted_calls"] = calls.uncounted_calls();
    json["totals"]["dropped_events"] = calls.dropped_events();
    json["totals"]["overwritten_events"] = calls.overwritten_events();
    json["totals"]["lost_changes"] = calls.lost_changes();
    json["rules"] = rules_json(calls.rules());
    json["first_nonfinite"] = json_list(calls.first_nonfinite_products(),
                                        [&](const auto& found) { return first_nonfinite_json(calls, found); });
    json["first_received"] = json_list(calls.first_receiving_products(),
                                       [&](const auto& found) { return first_received_json(calls, found); });
    json["searched_calls"] = calls.calls_searched_for_nonfinite();
    json["worth"] = possible_gain_json(calls);
    json["algorithms"] = algorithms_json(calls);
    json["by_format"] = Json::object();
    for (const auto& [format, share] : calls.by_format()) json["by_format"][format] = share_json(share);
    return json;
}

void write_json(const ReportContents& contents, const ReportView& view, ReportOutput& output) {
    const MergedCalls& calls = contents.calls;
    JsonWriter json(indented_json, [&](std::string_view text) { return output.write(text); });
    const auto write_rows = [&](const auto& columns) {
        return [&json, columns = std::span(columns)](const auto& row) {
            if constexpr (std::is_pointer_v<std::remove_cvref_t<decltype(row)>>)
                json.open('{').members(columns, *row).close('}');
            else
                json.open('{').members(columns, row).close('}');
        };
    };
    json.open('{').members(report_head_json(calls));
    if (const auto groups = contents.groups_by(view.grouping, RowOrder::time))
        json.key("groups").array(*groups, write_rows(group_columns())).member("rows", FieldValue());
    else
        json.member("groups", FieldValue())
            .key("rows")
            .array(sorted(calls.rows(), RowOrder::time), write_rows(row_columns()));
    json.key("processes").array(calls.processes(), [&](const auto& process) {
        json.json_value(process_json(process));
    });
    json.key("frames").array(std::span(contents.paths.nodes()).subspan(1),
                             write_rows(std::span<const Column<PathNode>>(frame_columns)));
    json.key("stacks").array(path_shares(contents.paths, calls),
                             write_rows(std::span<const Column<PathShare>>(stack_columns)));
    json.key("audits").array(calls.audits().all(),
                             [&](const auto& audits) { json.json_value(audits_json(calls, audits)); });
    json.finish_line('}').flush();
}

void write_csv(const ReportContents& contents, const ReportView& view, ReportOutput& output) {
    if (const auto groups = contents.groups_by(view.grouping, RowOrder::time))
        return write_csv_rows(group_columns(), *groups, output);
    write_csv_rows(row_columns(), sorted(contents.calls.rows(), RowOrder::time), output);
}

}  // namespace fp32shim::cli
