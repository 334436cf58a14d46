#include "policy/toml/fields.hpp"

#include <string>

namespace fp32shim::policy {

void report_not_allowed(const TomlEntry& entry, const toml::node& element, std::string_view allowed,
                        ErrorCollector& report) {
    report.add_error(position_of(element),
                     entry.key + ": found " + describe_value(element) + "; allowed: " + std::string(allowed));
}

void report_not_allowed(const TomlEntry& entry, std::string_view allowed, ErrorCollector& report) {
    report_not_allowed(entry, *entry.value, allowed, report);
}

void report_unknown_key(const TomlEntry& entry, std::string_view section, const std::vector<std::string_view>& known,
                        ErrorCollector& report) {
    const std::string in_section = section.empty() ? "" : " in " + std::string(section);
    report.add_error(entry.at, "unknown key " + in_quotes(entry.key) + in_section + "; allowed: " + joined(known) +
                                   did_you_mean(entry.key, known));
}

std::optional<std::string> read_string(const TomlEntry& entry, ErrorCollector& report) {
    const auto* text = value_as<std::string>(*entry.value);
    if (text && !text->empty()) return *text;
    report_not_allowed(entry, "a string that is not empty", report);
    return std::nullopt;
}

std::optional<bool> read_boolean(const TomlEntry& entry, ErrorCollector& report) {
    if (const auto* boolean = value_as<bool>(*entry.value)) return *boolean;
    report_not_allowed(entry, "true, false", report);
    return std::nullopt;
}

std::optional<double> read_number(const TomlEntry& entry, NumberRange range, std::string_view allowed,
                                  ErrorCollector& report) {
    const auto* integer = value_as<std::int64_t>(*entry.value);
    const auto* fraction = value_as<double>(*entry.value);
    if (integer || fraction) {
        const double number = integer ? static_cast<double>(*integer) : *fraction;
        if (range.lowest <= number && number <= range.highest) return number;
    }
    report_not_allowed(entry, allowed, report);
    return std::nullopt;
}

std::vector<const toml::node*> items_of_entry(const TomlEntry& entry, ErrorCollector& report) {
    const auto* array = entry.value->as_array();
    if (!array) return {entry.value};
    std::vector<const toml::node*> items;
    for (const toml::node& item : *array) items.push_back(&item);
    // An empty list is refused, because it could mean nothing or everything.
    if (items.empty())
        report.add_error(position_of(*entry.value), entry.key + ": found an empty list; omit the key instead");
    return items;
}

}  // namespace fp32shim::policy
