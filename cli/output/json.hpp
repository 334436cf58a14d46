// Writes the JSON of all commands.
#pragma once

#include <cmath>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>

#include "cli/output/field_value.hpp"
#include "cli/output/json_fwd.hpp"

namespace fp32shim::cli {

/// Returns the text of `json`. Bytes that are not UTF-8 become U+FFFD. Characters that are not plain
/// (system/plain_text.hpp) become \uNNNN. With an `indent` of -1 the text is one line.
std::string dump_json(const Json& json, int indent);

/// Returns `json` as indented text with a line feed at the end.
inline std::string json_text(const Json& json) { return dump_json(json, 2) + "\n"; }

/// Returns `json` as text on one line, with a line feed at the end.
inline std::string json_line(const Json& json) { return dump_json(json, -1) + "\n"; }

/// Replaces characters in the texts of `json` by \xNN, for consumers that display the texts: invisible characters,
/// and control characters except line feeds and tabs.
void make_texts_printable(Json& json);

/// Returns a row as a JSON object with a member for each column.
template <class Row>
Json json_object_of_row(std::span<const Column<Row>> columns, const Row& row) {
    Json json;
    for (const Column<Row>& column : columns) json[std::string(column.name)] = column.value(row).to_json();
    return json;
}

/// Returns a JSON list with the value that `value_of` returns for each element of `range`.
template <class Range, class ValueOf>
Json json_list(const Range& range, const ValueOf& value_of) {
    Json list = Json::array();
    for (const auto& element : range) list.push_back(value_of(element));
    return list;
}

/// Returns `value` as a JSON number; null if it is infinite or NaN, which JSON cannot express.
inline Json number_or_null(double value) { return std::isfinite(value) ? Json(value) : Json(); }

/// Returns `text` as a JSON string; null if it is empty.
inline Json text_or_null(std::string_view text) { return text.empty() ? Json() : Json(text); }

}  // namespace fp32shim::cli
