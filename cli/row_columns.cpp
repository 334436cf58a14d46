#include "cli/row_columns.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "cli/moment.hpp"
#include "policy/plain_text.hpp"
#include "record/utf8.hpp"

namespace fp32shim::cli {
namespace {

Json size_or_null(std::int64_t size) { return size < 0 ? Json() : Json(size); }

constexpr RowColumn decisions[] = {
    {"function", [](const MergedRow& row) { return text_or_null(row.function); }},
    {"dtype", [](const MergedRow& row) { return text_or_null(row.dtype); }},
    {"device", [](const MergedRow& row) { return text_or_null(row.device); }},
    {"device_index", [](const MergedRow& row) { return size_or_null(row.device_index); }},
    {"compute_capability", [](const MergedRow& row) { return text_or_null(row.compute_capability); }},
    {"trans_a", [](const MergedRow& row) { return text_or_null(row.trans_a); }},
    {"trans_b", [](const MergedRow& row) { return text_or_null(row.trans_b); }},
    {"m", [](const MergedRow& row) { return size_or_null(row.m); }},
    {"n", [](const MergedRow& row) { return size_or_null(row.n); }},
    {"k", [](const MergedRow& row) { return size_or_null(row.k); }},
    {"batch", [](const MergedRow& row) { return row.is_overflow ? Json() : Json(row.batch); }},
    {"caller", [](const MergedRow& row) { return text_or_null(row.caller); }},
    {"scope", [](const MergedRow& row) { return text_or_null(row.scope); }},
    {"provider", [](const MergedRow& row) { return text_or_null(row.provider); }},
    {"requested", [](const MergedRow& row) { return text_or_null(row.requested); }},
    {"source", [](const MergedRow& row) { return text_or_null(row.source); }},
    {"rule", [](const MergedRow& row) { return text_or_null(row.rule); }},
    {"applied", [](const MergedRow& row) { return text_or_null(row.applied); }},
    {"actual", [](const MergedRow& row) { return text_or_null(row.actual); }},
    {"how", [](const MergedRow& row) { return text_or_null(row.how); }},
    {"reason", [](const MergedRow& row) { return text_or_null(row.reason); }},
    {"detail", [](const MergedRow& row) { return text_or_null(row.detail); }},
    {"status", [](const MergedRow& row) { return row.status ? Json(*row.status) : Json(); }},
};

constexpr RowColumn counts[] = {
    {"sizes_folded", [](const MergedRow& row) { return Json(row.is_folded); }},
    {"flops", [](const MergedRow& row) { return row.flops < 0 ? Json() : Json(row.flops); }},
    {"processes", [](const MergedRow& row) { return Json(row.processes); }},
    {"calls", [](const MergedRow& row) { return Json(row.counters.calls); }},
    {"host_ns", [](const MergedRow& row) { return Json(row.counters.total_ns); }},
    {"timed_calls", [](const MergedRow& row) { return Json(row.counters.timed_calls); }},
    {"host_ns_min", [](const MergedRow& row) { return Json(row.counters.shortest_ns); }},
    {"host_ns_max", [](const MergedRow& row) { return Json(row.counters.longest_ns); }},
    {"host_ns_median", [](const MergedRow& row) { return row.median_ns ? Json(*row.median_ns) : Json(); }},
    {"first", [](const MergedRow& row) { return time_or_null(row.counters.first_ns); }},
    {"last", [](const MergedRow& row) { return time_or_null(row.counters.last_ns); }},
};

/// Spreadsheets take a cell that begins so for a formula (OWASP, "CSV injection"); the last four are full-width
/// forms.
bool begins_formula(std::string_view text) {
    constexpr std::string_view begins[] = {"=", "+", "-", "@", "\t", "\n", "＝", "＋", "－", "＠"};
    return std::any_of(std::begin(begins), std::end(begins),
                       [&](std::string_view begin) { return text.starts_with(begin); });
}

}  // namespace

std::string csv_text(std::string_view any_text) {
    constexpr std::string_view kept = "\n\t";
    std::string text = policy::plain_text(record::with_valid_utf8(any_text), kept);
    if (begins_formula(text)) text.insert(0, 1, '\'');
    if (text.find_first_of(",\"\n") == std::string::npos) return text;
    std::string quoted = "\"";
    for (const char c : text) quoted.append(c == '"' ? 2 : 1, c);
    return quoted + '"';
}

Json time_or_null(std::int64_t time_ns) { return time_ns == 0 ? Json() : Json(timestamp(time_ns)); }

std::span<const RowColumn> decision_columns() { return decisions; }
std::span<const RowColumn> count_columns() { return counts; }

Json json_of(const MergedRow& row) {
    Json json;
    for (const RowColumn& column : decisions) json[std::string(column.name)] = column.value(row);
    for (const RowColumn& column : counts) json[std::string(column.name)] = column.value(row);
    return json;
}

std::string csv_field(const Json& value) {
    if (value.is_null()) return {};
    if (value.is_string()) return csv_text(value.get_ref<const std::string&>());
    if (value.is_number_float()) return fmt::format("{:.17g}", value.get<double>());
    return value.dump();
}

std::string csv_fields(std::span<const RowColumn> columns, const MergedRow& row) {
    std::string text;
    for (const RowColumn& column : columns) (text += csv_field(column.value(row))) += ',';
    text.pop_back();
    return text;
}

std::string csv_names(std::span<const RowColumn> columns) {
    std::string text;
    for (const RowColumn& column : columns) text.append(column.name) += ',';
    text.pop_back();
    return text;
}

}  // namespace fp32shim::cli
