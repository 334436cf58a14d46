#include "cli/report/writers.hpp"

#include <fmt/format.h>

#include <cmath>
#include <span>
#include <utility>

#include "cli/output/json.hpp"
#include "cli/output/moment.hpp"
#include "cli/recordings/columns.hpp"
#include "cli/report/json_document.hpp"
#include "cli/report/path_formats.hpp"
#include "cli/report/worth.hpp"
#include "policy/words.hpp"
#include "record/pinned_variables.hpp"

namespace fp32shim::cli {
namespace {

Json to_json(const Share& share) {
    return {{"calls", share.calls}, {"host_ns", share.host_ns}, {"timed_calls", share.timed_calls}};
}

constexpr policy::Word<record::format::ChangeOrigin> origin_words[] = {
    {"command", record::format::ChangeOrigin::command},
    {"program", record::format::ChangeOrigin::program},
    {"carried_over", record::format::ChangeOrigin::carried_over},
};
Json to_json(const record::RecordedChange& change) {
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

Json to_json(const MergedProcess& process) {
    Json json = cli::to_json(process_columns(), process);
    json.update(cli::to_json(further_process_columns(), process));
    const std::uint16_t pins = process.facts.process.pins;
    json["where"] = text_or_null(policy::to_string(process.facts.start.where));
    json["pinned_by"] = pins == 0 ? Json() : Json(record::entries_of(pins));
    json["wall_ns"] = process.facts.wall_ns() > 0 ? Json(process.facts.wall_ns()) : Json();
    json["host_ns"] = process.host_ns;
    json["environment"] = environment_json(process.environment);
    json["calls"] = process.calls;
    json["changes"] = Json::array();
    for (const record::RecordedChange& change : process.changes) json["changes"].push_back(to_json(change));
    return json;
}

Json to_json(const record::Exponents& exponents) {
    return exponents.lowest > exponents.highest ? Json() : Json({exponents.lowest, exponents.highest});
}

/// Returns the members that identify an audited product.
Json product_json(const MergedRow& row) {
    return {{"function", text_or_null(row.function)},
            {"m", row.m},
            {"n", row.n},
            {"k", row.k},
            {"batch", row.batch},
            {"caller", text_or_null(row.caller)},
            {"scope", text_or_null(row.scope)},
            {"where", text_or_null(row.where)},
            {"applied", text_or_null(row.applied)},
            {"source", text_or_null(row.source)},
            {"reason", text_or_null(row.reason)}};
}

Json nonfinite_json(const MergedCalls& calls, const MergedNonfinite& nonfinite) {
    const MergedProcess& process = calls.processes()[nonfinite.process];
    const record::Audit& found = nonfinite.found.audit;
    Json json = {{"time", FieldValue::time_or_null(nonfinite.found.end_ns).json()},
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
                 {"exponents", {{"a", to_json(found.a)}, {"b", to_json(found.b)}}}});
    return json;
}

Json received_json(const MergedCalls& calls, const MergedNonfinite& received) {
    Json json = nonfinite_json(calls, received);
    const std::string_view operand = record::nonfinite_operand(received.found.audit);
    json["operand"] = operand == "?" ? Json() : Json(operand);
    for (const char* const key : {"alpha", "beta", "exponents"}) json.erase(key);
    if (operand.size() > 1) json["row"] = json["column"] = Json();
    return json;
}

Json optional_json(const std::optional<double>& number) { return number ? number_or_null(*number) : Json(); }

/// Returns the audits of one row. An infinite error becomes null.
Json audits_json(const MergedCalls& calls, const RowAudits& audits) {
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
                 {"beyond_at_most", optional_json(audits.most_beyond(row.counters.calls))},
                 {"skipped", audits.skipped},
                 {"bad_operands", audits.bad_operands},
                 {"bad_results", audits.bad_results}});
    for (const auto& [key, error] : record::audit_errors) {
        const double mean = audits.compared == 0 ? 0 : audits.sum.*error / static_cast<double>(audits.compared);
        json[std::string(key)] = {{"worst", number_or_null(audits.worst.*error)},
                                  {"mean", number_or_null(mean)},
                                  {"estimated_mean", optional_json(audits.estimate(error, row.counters.calls))}};
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
    json["exponents"] = {{"a", to_json(audits.a)}, {"b", to_json(audits.b)}, {"c", to_json(audits.c)}};
    return json;
}

/// Returns the members of the report that stand before its groups.
Json head_json(const MergedCalls& calls) {
    Json json;
    json["schema"] = 1;
    json["totals"] = to_json(calls.total());
    json["totals"]["recordings"] = calls.recording_count();
    json["totals"]["hosts"] = calls.host_count();
    json["totals"]["first"] = FieldValue::time_or_null(calls.first_ns()).json();
    json["totals"]["last"] = FieldValue::time_or_null(calls.last_ns()).json();
    json["totals"]["uncounted_calls"] = calls.uncounted_calls();
    json["totals"]["dropped_events"] = calls.dropped_events();
    json["totals"]["overwritten_events"] = calls.overwritten_events();
    json["totals"]["lost_changes"] = calls.lost_changes();
    json["rules"] = to_json(calls.rules());
    json["first_nonfinite"] = Json::array();
    for (const MergedNonfinite& nonfinite : calls.nonfinite())
        json["first_nonfinite"].push_back(nonfinite_json(calls, nonfinite));
    json["first_received"] = Json::array();
    for (const MergedNonfinite& received : calls.received())
        json["first_received"].push_back(received_json(calls, received));
    json["searched_calls"] = calls.searched_calls();
    json["worth"] = worth_json(calls);
    json["by_format"] = Json::object();
    for (const auto& [format, share] : calls.by_format()) json["by_format"][format] = to_json(share);
    return json;
}

}  // namespace

void write_report_json(const MergedCalls& calls, const std::vector<RowGroup>* groups, const CallPaths& paths,
                       ReportOutput& output) {
    JsonDocument document(output);
    document.add_members(head_json(calls));
    const auto write_row = [](JsonText& json, const MergedRow* row) {
        json.open('{').members(row_columns(), *row).close('}');
    };
    const auto write_group = [](JsonText& json, const RowGroup& group) {
        json.open('{').members(group_columns(), group).close('}');
    };
    if (groups == nullptr) {
        document.add_members({{"groups", nullptr}});
        document.add_array("rows", sorted(calls.rows(), RowOrder::time), write_row);
    } else {
        document.add_array("groups", *groups, write_group);
        document.add_members({{"rows", nullptr}});
    }
    const auto write_process = [](JsonText& json, const MergedProcess& process) { json.json(to_json(process)); };
    const auto write_frame = [](JsonText& json, const PathNode& node) { json.json(frame_json(node)); };
    const auto write_path = [](JsonText& json, const PathShare& share) { json.json(path_json(share)); };
    const auto write_audits = [&](JsonText& json, const RowAudits& audits) { json.json(audits_json(calls, audits)); };
    document.add_array("processes", calls.processes(), write_process);
    document.add_array("frames", std::span(paths.nodes()).subspan(1), write_frame);
    document.add_array("stacks", path_shares(paths, calls), write_path);
    document.add_array("audits", calls.audits().all(), write_audits);
    document.finish();
}

void write_report_csv(const MergedCalls& calls, const std::vector<RowGroup>* groups, ReportOutput& output) {
    std::string text;
    const auto write = [&](const auto& columns, const auto& row) {
        text.clear();
        append_csv(text, columns, row);
        return output.put(text += "\r\n");
    };
    if (groups != nullptr) {
        output.put(csv_names(group_columns()) + "\r\n");
        for (const RowGroup& group : *groups) write(group_columns(), group);
        return;
    }
    output.put(csv_names(row_columns()) + "\r\n");
    for (const MergedRow* row : sorted(calls.rows(), RowOrder::time))
        if (!write(row_columns(), *row)) return;
}

}  // namespace fp32shim::cli
