#include "cli/recordings/row_columns.hpp"

#include <fmt/format.h>

#include <utility>

#include "cli/output/moment.hpp"

namespace fp32shim::cli {
namespace {

// Kinds of record/decision_fields.def. A negative size, an argument that a library refused, is null.
FieldValue string(SharedText text, int = 0) { return FieldValue::text_or_null(text); }
FieldValue code(SharedText text) { return FieldValue::text_or_null(text); }
FieldValue letter(const char& c) { return c == 0 ? FieldValue() : FieldValue(std::string_view(&c, 1)); }
FieldValue compute_capability(std::int32_t value) { return FieldValue::compute_capability(value); }
FieldValue size(std::int64_t value) { return FieldValue::size_or_null(value); }
FieldValue integer(std::optional<std::int64_t> value) { return value ? FieldValue(*value) : FieldValue(); }

constexpr RowColumn decisions[] = {
#define DECISION_FIELD(key, member, kind, ...) \
    {#key, [](const MergedRow& row) { return row.is_overflow ? FieldValue() : kind(row.key); }},
#define CALL_FIELD(...)
#include "record/decision_fields.def"
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
        out.append("\"").append(column.name).append(indentation >= 0 ? "\": " : "\":");
        column.value(row).append_json(out);
    };
    for (const RowColumn& column : decisions) append(column);
    for (const RowColumn& column : counts) append(column);
    (out += line) += '}';
}

}  // namespace fp32shim::cli
