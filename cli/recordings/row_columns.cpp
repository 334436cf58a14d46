#include "cli/recordings/row_columns.hpp"

#include <fmt/format.h>

#include <array>
#include <utility>

#include "cli/output/moment.hpp"

namespace fp32shim::cli {
namespace {

constexpr RowColumn decisions[] = {
    {"function", [](const MergedRow& row) { return FieldValue::text_or_null(row.function); }},
    {"dtype", [](const MergedRow& row) { return FieldValue::text_or_null(row.dtype); }},
    {"device", [](const MergedRow& row) { return FieldValue::text_or_null(row.device); }},
    {"device_index", [](const MergedRow& row) { return FieldValue::size_or_null(row.device_index); }},
    {"compute_capability", [](const MergedRow& row) { return FieldValue::text_or_null(row.compute_capability); }},
    {"trans_a", [](const MergedRow& row) { return FieldValue::text_or_null(row.trans_a); }},
    {"trans_b", [](const MergedRow& row) { return FieldValue::text_or_null(row.trans_b); }},
    {"m", [](const MergedRow& row) { return FieldValue::size_or_null(row.m); }},
    {"n", [](const MergedRow& row) { return FieldValue::size_or_null(row.n); }},
    {"k", [](const MergedRow& row) { return FieldValue::size_or_null(row.k); }},
    {"batch", [](const MergedRow& row) { return row.is_overflow ? FieldValue() : FieldValue(row.batch); }},
    {"caller", [](const MergedRow& row) { return FieldValue::text_or_null(row.caller); }},
    {"scope", [](const MergedRow& row) { return FieldValue::text_or_null(row.scope); }},
    {"provider", [](const MergedRow& row) { return FieldValue::text_or_null(row.provider); }},
    {"requested", [](const MergedRow& row) { return FieldValue::text_or_null(row.requested); }},
    {"source", [](const MergedRow& row) { return FieldValue::text_or_null(row.source); }},
    {"rule", [](const MergedRow& row) { return FieldValue::text_or_null(row.rule); }},
    {"applied", [](const MergedRow& row) { return FieldValue::text_or_null(row.applied); }},
    {"actual", [](const MergedRow& row) { return FieldValue::text_or_null(row.actual); }},
    {"how", [](const MergedRow& row) { return FieldValue::text_or_null(row.how); }},
    {"reason", [](const MergedRow& row) { return FieldValue::text_or_null(row.reason); }},
    {"detail", [](const MergedRow& row) { return FieldValue::text_or_null(row.detail); }},
    {"status", [](const MergedRow& row) { return row.status ? FieldValue(*row.status) : FieldValue(); }},
};

constexpr RowColumn counts[] = {
    {"sizes_folded", [](const MergedRow& row) { return FieldValue(row.is_folded); }},
    {"flops", [](const MergedRow& row) { return row.flops < 0 ? FieldValue() : FieldValue(row.flops); }},
    {"processes", [](const MergedRow& row) { return FieldValue(row.processes); }},
    {"calls", [](const MergedRow& row) { return FieldValue(row.counters.calls); }},
    {"host_ns", [](const MergedRow& row) { return FieldValue(row.counters.total_ns); }},
    {"timed_calls", [](const MergedRow& row) { return FieldValue(row.counters.timed_calls); }},
    {"host_ns_min", [](const MergedRow& row) { return FieldValue(row.counters.shortest_ns); }},
    {"host_ns_max", [](const MergedRow& row) { return FieldValue(row.counters.longest_ns); }},
    {"host_ns_median",
     [](const MergedRow& row) { return row.median_ns ? FieldValue(*row.median_ns) : FieldValue(); }},
    {"first", [](const MergedRow& row) { return FieldValue::time_or_null(row.counters.first_ns); }},
    {"last", [](const MergedRow& row) { return FieldValue::time_or_null(row.counters.last_ns); }},
};

/// What stands before the value of each column: `"m": `.
const std::string& quoted_name(const RowColumn& column) {
    static const auto names = [] {
        std::array<std::string, std::size(decisions) + std::size(counts)> all;
        std::size_t place = 0;
        for (const std::span<const RowColumn> columns :
             {std::span<const RowColumn>(decisions), std::span<const RowColumn>(counts)})
            for (const RowColumn& each : columns) all[place++] = fmt::format("\"{}\":", each.name);
        return all;
    }();
    const bool is_decision = &column >= std::begin(decisions) && &column < std::end(decisions);
    return names[static_cast<std::size_t>(is_decision ? &column - std::begin(decisions)
                                                      : &column - std::begin(counts) + std::ssize(decisions))];
}

}  // namespace

Json time_or_null(std::int64_t time_ns) { return time_ns == 0 ? Json() : Json(timestamp(time_ns)); }

std::span<const RowColumn> decision_columns() { return decisions; }
std::span<const RowColumn> count_columns() { return counts; }

Json json_of(const MergedRow& row) {
    Json json;
    for (const RowColumn& column : decisions) json[std::string(column.name)] = column.value(row).json();
    for (const RowColumn& column : counts) json[std::string(column.name)] = column.value(row).json();
    return json;
}

void append_json(std::string& out, const MergedRow& row, int indentation, std::string_view begin) {
    const std::string line =
        indentation < 0 ? std::string() : "\n" + std::string(static_cast<std::size_t>(indentation), ' ');
    const char* separator = begin.empty() ? "" : ",";
    (out += '{') += begin;
    const auto append = [&](const RowColumn& column) {
        out.append(std::exchange(separator, ",")).append(line);
        if (indentation >= 0) out += "  ";
        out += quoted_name(column);
        if (indentation >= 0) out += ' ';
        column.value(row).append_json(out);
    };
    for (const RowColumn& column : decisions) append(column);
    for (const RowColumn& column : counts) append(column);
    (out += line) += '}';
}

void append_csv(std::string& out, std::span<const RowColumn> columns, const MergedRow& row) {
    for (const RowColumn& column : columns) {
        column.value(row).append_csv(out);
        out += ',';
    }
    out.pop_back();
}

std::string csv_fields(std::span<const RowColumn> columns, const MergedRow& row) {
    std::string text;
    append_csv(text, columns, row);
    return text;
}

std::string csv_names(std::span<const RowColumn> columns) {
    std::string text;
    for (const RowColumn& column : columns) text.append(column.name) += ',';
    text.pop_back();
    return text;
}

}  // namespace fp32shim::cli
