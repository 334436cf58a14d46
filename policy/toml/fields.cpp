#include "policy/toml/fields.hpp"

#include <string>

namespace fp32shim::policy {

void report_not_allowed(const Entry& entry, const toml::node& element, std::string_view allowed, Report& report) {
    report.error(position_of(element),
                 entry.key + ": found " + describe(element) + "; allowed: " + std::string(allowed));
}

void report_not_allowed(const Entry& entry, std::string_view allowed, Report& report) {
    report_not_allowed(entry, *entry.value, allowed, report);
}

void report_unknown_key(const Entry& entry, std::string_view section, const std::vector<std::string_view>& known,
                        Report& report) {
    const std::string in_section = section.empty() ? "" : " in " + std::string(section);
    report.error(entry.at, "unknown key " + in_quotes(entry.key) + in_section + "; allowed: " + joined(known) +
                               did_you_mean(entry.key, known));
}

std::optional<std::string> read_string(const Entry& entry, Report& report) {
    const auto* text = as<std::string>(*entry.value);
    if (text && !text->empty()) return *text;
    report_not_allowed(entry, "a string that is not empty", report);
    return std::nullopt;
}

std::optional<bool> read_boolean(const Entry& entry, Report& report) {
    if (const auto* boolean = as<bool>(*entry.value)) return *boolean;
    report_not_allowed(entry, "true, false", report);
    return std::nullopt;
}

std::optional<double> read_number(const Entry& entry, Range range, std::string_view allowed, Report& report) {
    const auto* integer = as<std::int64_t>(*entry.value);
    const auto* fraction = as<double>(*entry.value);
    if (integer || fraction) {
        const double number = integer ? static_cast<double>(*integer) : *fraction;
        if (range.lowest <= number && number <= range.highest) return number;
    }
    report_not_allowed(entry, allowed, report);
    return std::nullopt;
}

std::vector<const toml::node*> read_one_or_more(const Entry& entry, Report& report) {
    const auto* array = entry.value->as_array();
    if (!array) return {entry.value};
    std::vector<const toml::node*> items;
    for (const toml::node& item : *array) items.push_back(&item);
    // An empty list is refused: it could mean nothing or everything.
    if (items.empty())
        report.error(position_of(*entry.value), entry.key + ": found an empty list; omit the key instead");
    return items;
}

}  // namespace fp32shim::policy
