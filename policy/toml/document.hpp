// TOML as plain values with their positions, in the order of the text. Only document.cpp uses toml++.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "policy/messages.hpp"

namespace fp32shim::policy {

struct Entry;

/// A value of TOML and its position in the text.
struct Value {
    struct Date {};  ///< a date; its value is not kept, since no setting is a date
    using Array = std::vector<Value>;
    using Table = std::vector<Entry>;

    std::variant<std::string, std::int64_t, double, bool, Date, Array, Table> content;
    Position at;

    /// Returns the content if it is a T; otherwise nullptr.
    template <class T>
    const T* as() const {
        return std::get_if<T>(&content);
    }
};

/// A key and its value.
struct Entry {
    std::string key;
    Position at;  ///< position of the key
    Value value;
};

/// Returns the entries of the root table. If the text is not TOML, reports an error and returns none.
Value::Table parse_toml(std::string_view text, Report& report);

/// Returns the words for a value in a message: `"hihg"`, `12`, `an array`.
std::string describe(const Value& value);

/// Returns the entry of `table` with the key `key`, or nullptr.
const Entry* find(const Value::Table& table, std::string_view key);

}  // namespace fp32shim::policy
