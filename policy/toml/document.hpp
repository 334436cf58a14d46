// Reads TOML with the positions and the order of the text. The files of this folder include toml++ only through this
// header, so that all of them use the same settings of toml++.
#pragma once

#define TOML_EXCEPTIONS 0
#define TOML_HEADER_ONLY 1
#define TOML_ENABLE_FORMATTERS 0
// Limits recursion, together with the limit on dotted keys in document.cpp: toml++ builds and destroys tables
// recursively.
#define TOML_MAX_NESTED_VALUES 16
// Wrong TOML violates some assertions of toml++ 3.3, although toml++ also checks and reports these errors. A failed
// assertion must not end the process, as it would by assert(), and the compiler must not assume that an assertion
// holds, as it would with NDEBUG.
#undef NDEBUG
#define TOML_ASSERT(expression) static_assert(true)

#include <toml++/toml.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "policy/messages.hpp"

namespace fp32shim::policy {

/// A key of a table and its value, which belongs to the table.
struct TomlEntry {
    std::string key;
    TextPosition at;  ///< position of the key
    const toml::node* value;
};

inline TextPosition position_of(const toml::source_region& source) {
    return {static_cast<int>(source.begin.line), static_cast<int>(source.begin.column)};
}
inline TextPosition position_of(const toml::node& node) { return position_of(node.source()); }

/// Returns the value of a node if it is a T: a std::string, std::int64_t, double or bool; otherwise nullptr.
template <class T>
const T* value_as(const toml::node& node) {
    const auto* value = node.as<T>();
    return value == nullptr ? nullptr : &value->get();
}

/// Returns the root table. If the text is not TOML, reports an error and returns nullopt.
std::optional<toml::table> parse_toml(std::string_view text, ErrorCollector& report);

/// Returns the entries of a table in the order of the text, so that messages and rules have this order. toml++ itself
/// sorts entries by name.
std::vector<TomlEntry> entries_of(const toml::table& table);

/// Returns the words for a value in a message: `"hihg"`, `12`, `an array`.
std::string describe_value(const toml::node& value);

}  // namespace fp32shim::policy
