// A TOML text as plain values with positions, in the order in which they were written. Keeps toml++ in one file.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "policy/messages.hpp"

namespace fp32shim::policy {

struct Entry;

struct Value {
    struct Date {};  ///< no setting is one, so its fields are not kept
    using Array = std::vector<Value>;
    using Table = std::vector<Entry>;

    std::variant<std::string, std::int64_t, double, bool, Date, Array, Table> content;
    Position at;

    /// The content as a T, or null where it is something else.
    template <class T>
    const T* as() const {
        return std::get_if<T>(&content);
    }
};

struct Entry {
    std::string key;
    Position at;  ///< of the key
    Value value;
};

/// The root table's entries. A text that is not TOML is reported, and what comes back then is empty.
Value::Table parse_toml(std::string_view text, Report& report);

/// The value as a message shows it: `"hihg"`, `12`, `an array`.
std::string describe(const Value& value);

/// Entry of that name, or null.
const Entry* find(const Value::Table& table, std::string_view key);

}  // namespace fp32shim::policy
