#include "cli/recordings/row_columns.hpp"

#include <utility>

namespace fp32shim::cli {
namespace {

// Kinds of record/decision_fields.def. A negative size, an argument that a library refused, is null.
FieldValue string(SharedText text, int = 0) { return FieldValue::text_or_null(text); }
FieldValue code(SharedText text) { return FieldValue::text_or_null(text); }
FieldValue letter(const char& c) { return c == 0 ? FieldValue() : FieldValue(std::string_view(&c, 1)); }
FieldValue compute_capability(std::int32_t value) {
    return value <= 0 ? FieldValue() : FieldValue(FieldValue::Capability{value});
}
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
};

const auto columns_of_rows = joined<MergedRow>({decisions, counts, counter_columns<MergedRow>});

}  // namespace

std::span<const RowColumn> decision_columns() { return decisions; }
std::span<const RowColumn> row_columns() { return columns_of_rows; }

void append_json(std::string& out, const MergedRow& row, int indentation, std::string_view begin) {
    const std::string line =
        indentation < 0 ? std::string() : "\n" + std::string(static_cast<std::size_t>(indentation), ' ');
    const char* separator = begin.empty() ? "" : ",";
    (out += '{') += begin;
    for (const RowColumn& column : columns_of_rows) {
        out.append(std::exchange(separator, ",")).append(line);
        if (indentation >= 0) out += "  ";
        out.append("\"").append(column.name).append(indentation >= 0 ? "\": " : "\":");
        column.value(row).append_json(out);
    }
    (out += line) += '}';
}

}  // namespace fp32shim::cli
