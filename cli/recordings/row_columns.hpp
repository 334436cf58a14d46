// Columns of a row for every format: keys in JSON, columns in CSV.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "cli/output/json.hpp"
#include "cli/recordings/field_value.hpp"
#include "cli/recordings/merged_calls.hpp"

namespace fp32shim::cli {

using RowColumn = Column<MergedRow>;

/// Returns the columns of a decision: the keys of docs/log-format.md, except those that are about a single call.
std::span<const RowColumn> decision_columns();

/// Returns the columns of counts and times (docs/cli/report-json.md).
std::span<const RowColumn> count_columns();

/// Returns a row as the JSON of every command has it, with all columns.
Json json_of(const MergedRow& row);
/// Appends a row as JSON, each line but the first behind `indentation` blanks; -1: on one line. `begin`: members to
/// put before the columns.
void append_json(std::string& out, const MergedRow& row, int indentation, std::string_view begin = {});

/// Returns a point in time for JSON; null for 0.
Json time_or_null(std::int64_t time_ns);

}  // namespace fp32shim::cli
