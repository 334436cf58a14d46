#include "policy/toml/document.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

#include "policy/toml/guard.hpp"

namespace fp32shim::policy {
namespace {

/// Returns a hint if the value at this place of the text, counted from 1, is a word: a text without its quotes.
std::string hint_about_quotes(std::string_view text, std::size_t line, std::size_t column) {
    for (; line > 1; --line) text.remove_prefix(std::min(text.find('\n'), text.size() - 1) + 1);
    text = text.substr(0, text.find('\n'));
    const std::size_t equals = text.rfind('=', std::min(column, text.size()));
    if (equals == std::string_view::npos) return {};
    text.remove_prefix(std::min(text.find_first_not_of(" \t", equals + 1), text.size()));
    const std::string_view word = text.substr(0, text.find_first_of(" \t\r,}]#"));
    const auto is_letter = [](char c) { return (c | 32) >= 'a' && (c | 32) <= 'z'; };
    const bool is_text = !word.empty() && (is_letter(word.front()) || word.front() == '/' || word.front() == '*');
    return is_text ? "; a text needs quotes: " + in_quotes(std::string(word)) : "";
}

}  // namespace

std::optional<toml::table> parse_toml(std::string_view text, Report& report) {
    if (!is_safe_for_tomlplusplus(text, report)) return std::nullopt;
    toml::parse_result result = toml::parse(text);
    if (result) return std::move(result).table();
    const toml::source_region& source = result.error().source();
    report.error(position_of(source), "not valid TOML: " + printable(result.error().description()) +
                                          hint_about_quotes(text, source.begin.line, source.begin.column));
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
