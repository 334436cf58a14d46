// The keys of a row, once for every format: JSON takes them as they are, CSV as its columns.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "cli/json.hpp"
#include "cli/merged_calls.hpp"

namespace fp32shim::cli {

struct RowColumn {
    std::string_view name;
    Json (*value)(const MergedRow& row);  ///< null: unknown, or does not apply
};

/// What was decided: the keys that a decision has in docs/log-format.md, without those of one call.
std::span<const RowColumn> decision_columns();

/// How many such calls there were, and how long they took (docs/cli/report-json.md).
std::span<const RowColumn> count_columns();

/// A row as the JSON of every command has it: both of these.
Json json_of(const MergedRow& row);

/// A point in time as JSON has it; null for 0.
Json time_or_null(std::int64_t time_ns);

/// A text as a field of RFC 4180: in quotes where it holds a comma, a quote or a line feed. Characters that are not
/// plain (policy/plain_text.hpp), but for line feeds and tabs, become \xNN; a text that a spreadsheet would take for
/// a formula gets a `'` before it.
std::string csv_text(std::string_view text);

/// Nothing for null; a number as it is, also a negative one; a text as csv_text().
std::string csv_field(const Json& value);

/// Fields, with commas between them; and the line that names them.
std::string csv_fields(std::span<const RowColumn> columns, const MergedRow& row);
std::string csv_names(std::span<const RowColumn> columns);

}  // namespace fp32shim::cli
