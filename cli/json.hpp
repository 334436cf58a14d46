// JSON as every command writes it.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace fp32shim::cli {

/// Keys stay in the order in which they are set.
using Json = nlohmann::ordered_json;

/// Indented, with a line feed at the end; bytes that are not UTF-8 become U+FFFD.
inline std::string json_text(const Json& json) {
    return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

/// The same on one line, for JSON lines.
inline std::string json_line(const Json& json) {
    return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

/// null for an empty text.
inline Json text_or_null(std::string_view text) { return text.empty() ? Json() : Json(text); }

}  // namespace fp32shim::cli
