// Rows as JSON objects.
#pragma once

#include <span>
#include <string>

#include "cli/output/json.hpp"
#include "cli/recordings/row_columns.hpp"

namespace fp32shim::cli {

/// Returns a row as a JSON object with a member for each column.
template <class Row>
Json json_of(std::span<const Column<Row>> columns, const Row& row) {
    Json json;
    for (const Column<Row>& column : columns) json[std::string(column.name)] = column.value(row).json();
    return json;
}

/// Returns a row as JSON with all columns, the same in every command.
inline Json json_of(const MergedRow& row) { return json_of(row_columns(), row); }

}  // namespace fp32shim::cli
