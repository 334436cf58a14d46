#include "policy/toml/document.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

#include "policy/toml/guard.hpp"

namespace fp32shim::policy {

std::optional<toml::table> parse_toml(std::string_view text, Report& report) {
    if (!is_safe_for_tomlplusplus(text, report)) return std::nullopt;
    toml::parse_result result = toml::parse(text);
    if (result) return std::move(result).table();
    report.error(position_of(result.error().source()), "not valid TOML: " + printable(result.error().description()));
    return std::nullopt;
}

std::vector<Entry> entries_of(const toml::table& table) {
    std::vector<Entry> entries;
    for (const auto& [key, value] : table)
        entries.push_back({std::string(key.str()), position_of(key.source()), &value});
    std::ranges::stable_sort(entries, {},
                             [](const Entry& entry) { return std::pair(entry.at.line, entry.at.column); });
    return entries;
}

std::string describe(const toml::node& value) {
    if (const auto* text = as<std::string>(value)) return in_quotes(*text);
    if (const auto* integer = as<std::int64_t>(value)) return std::to_string(*integer);
    if (const auto* boolean = as<bool>(value)) return *boolean ? "true" : "false";
    if (const auto* number = as<double>(value)) {
        char text[32];
        const auto result = std::to_chars(text, text + sizeof text, *number);
        std::string written(text, result.ptr);
        // Shows 8.0 as a fraction, since it is not the integer 8.
        return written.find_first_not_of("-0123456789") == std::string::npos ? written + ".0" : written;
    }
    return value.is_array() ? "an array" : value.is_table() ? "a table" : "a date or time";
}

}  // namespace fp32shim::policy
