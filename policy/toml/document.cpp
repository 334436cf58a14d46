#define TOML_EXCEPTIONS 0
#define TOML_HEADER_ONLY 1
#define TOML_ENABLE_FORMATTERS 0
// Limits recursion, together with the limit on dotted keys in toml/guard.cpp: toml++ builds and destroys tables
// recursively.
#define TOML_MAX_NESTED_VALUES 16
// Wrong TOML violates some assertions of toml++ 3.3, although toml++ also checks and reports these errors. A failed
// assertion must not end the process (as assert does). Nor may the compiler assume that it holds (as with NDEBUG).
#undef NDEBUG
#define TOML_ASSERT(expression) static_assert(true)

#include "policy/toml/document.hpp"

#include <toml++/toml.h>

#include <algorithm>
#include <charconv>
#include <string>

#include "policy/toml/guard.hpp"

namespace fp32shim::policy {
namespace {

Position position_of(const toml::source_region& source) {
    return {static_cast<int>(source.begin.line), static_cast<int>(source.begin.column)};
}

Value convert(const toml::node& node) {
    Value value;
    value.at = position_of(node.source());
    if (const auto* table = node.as_table()) {
        Value::Table entries;
        for (const auto& [key, child] : *table) {
            entries.push_back({std::string(key.str()), position_of(key.source()), convert(child)});
        }
        // toml++ sorts by name, but messages and rules follow the order of the file.
        std::stable_sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
            return std::pair(a.at.line, a.at.column) < std::pair(b.at.line, b.at.column);
        });
        value.content = std::move(entries);
    } else if (const auto* array = node.as_array()) {
        Value::Array items;
        for (const auto& child : *array) items.push_back(convert(child));
        value.content = std::move(items);
    } else if (const auto* string = node.as_string()) {
        value.content = string->get();
    } else if (const auto* integer = node.as_integer()) {
        value.content = integer->get();
    } else if (const auto* number = node.as_floating_point()) {
        value.content = number->get();
    } else if (const auto* boolean = node.as_boolean()) {
        value.content = boolean->get();
    } else {
        value.content = Value::Date{};
    }
    return value;
}

}  // namespace

Value::Table parse_toml(std::string_view text, Report& report) {
    if (!is_safe_for_tomlplusplus(text, report)) return {};
    const toml::parse_result result = toml::parse(text);
    if (!result) {
        report.error(position_of(result.error().source()),
                     "not valid TOML: " + printable(result.error().description()));
        return {};
    }
    Value root = convert(result.table());
    return std::get<Value::Table>(std::move(root.content));
}

std::string describe(const Value& value) {
    struct Describe {
        std::string operator()(const std::string& text) const { return policy::in_quotes(text); }
        std::string operator()(std::int64_t integer) const { return std::to_string(integer); }
        std::string operator()(double number) const {
            char text[32];
            const auto result = std::to_chars(text, text + sizeof text, number);
            std::string written(text, result.ptr);
            // Shows 8.0 as a fraction, since it is not the integer 8.
            return written.find_first_not_of("-0123456789") == std::string::npos ? written + ".0" : written;
        }
        std::string operator()(bool boolean) const { return boolean ? "true" : "false"; }
        std::string operator()(const Value::Date&) const { return "a date or time"; }
        std::string operator()(const Value::Array&) const { return "an array"; }
        std::string operator()(const Value::Table&) const { return "a table"; }
    };
    return std::visit(Describe{}, value.content);
}

const Entry* find(const Value::Table& table, std::string_view key) {
    const auto entry = std::find_if(table.begin(), table.end(), [&](const Entry& e) { return e.key == key; });
    return entry == table.end() ? nullptr : &*entry;
}

}  // namespace fp32shim::policy
