// The keys of a row, once for every format: JSON takes them as they are, CSV as its columns.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "cli/output/json.hpp"
#include "cli/recordings/field_value.hpp"
#include "cli/recordings/merged_calls.hpp"

namespace fp32shim::cli {

struct RowColumn {
    std::string_view name;
    FieldValue (*value)(const MergedRow& row);
};

/// What was decided: the keys that a decision has in docs/log-format.md, without those of one call.
std::span<const RowColumn> decision_columns();

/// How many such calls there were, and how long they took (docs/cli/report-json.md).
std::span<const RowColumn> count_columns();

/// A row as the JSON of every command has it: both of these.
Json json_of(const MergedRow& row);
/// The same as text, each line but the first behind that many blanks; -1: all on one line. `begin`: members that
/// stand before these, if any.
void append_json(std::string& out, const MergedRow& row, int indentation, std::string_view begin = {});

/// A point in time as JSON has it; null for 0.
Json time_or_null(std::int64_t time_ns);

/// Fields, with commas between them; and the line that names them.
void append_csv(std::string& out, std::span<const RowColumn> columns, const MergedRow& row);
std::string csv_names(std::span<const RowColumn> columns);

}  // namespace fp32shim::cli
