// Reading one key: each function gives the value if it is what the key allows, else reports it and gives nothing.
#pragma once

#include <optional>
#include <string>

#include "policy/toml/document.hpp"
#include "policy/words.hpp"

namespace fp32shim::policy {

/// One known key of a table: the tables of these are the list of what a policy file may say.
template <class Target>
struct Key {
    std::string_view name;
    void (*read)(const Entry& entry, Target& target, Report& report);
};

/// `limits: found 3; allowed: a table`
void report_not_allowed(const Entry& entry, std::string_view allowed, Report& report);

/// The same for one element of a list.
void report_not_allowed(const Entry& entry, const Value& element, std::string_view allowed, Report& report);

void report_unknown_key(const Entry& entry, std::string_view section, const std::vector<std::string_view>& known,
                        Report& report);

/// Any string but the empty one.
std::optional<std::string> read_string(const Entry& entry, Report& report);

std::optional<bool> read_boolean(const Entry& entry, Report& report);

/// A number, whole or not, that is in the range; `allowed` is how a message describes it.
std::optional<double> read_number(const Entry& entry, Range range, std::string_view allowed, Report& report);

/// The items of a list that is not empty, or a single value as a list of one; empty after reporting.
std::vector<const Value*> one_or_more(const Entry& entry, Report& report);

/// The value of a table in words.hpp that an element names.
auto read_word(const Entry& entry, const Value& element, const auto& words, Report& report)
    -> decltype(parse_word(words, {})) {
    const auto* text = element.as<std::string>();
    const auto value = text ? parse_word(words, *text) : std::nullopt;
    if (value) return value;
    if (text) {
        report.error(element.at, entry.key + ": " + not_one_of(*text, texts_of(words)));
    } else {
        report_not_allowed(entry, element, joined(texts_of(words)), report);
    }
    return std::nullopt;
}

auto read_word(const Entry& entry, const auto& words, Report& report) {
    return read_word(entry, entry.value, words, report);
}

/// Reads every entry that a row of `keys` knows and reports the others.
template <class Target, std::size_t count>
void read_entries(const Value::Table& table, std::string_view section, const Key<Target> (&keys)[count],
                  Target& target, Report& report) {
    for (const Entry& entry : table) {
        bool known = false;
        for (const Key<Target>& key : keys) {
            if (key.name != entry.key) continue;
            key.read(entry, target, report);
            known = true;
        }
        if (known) continue;
        std::vector<std::string_view> names;
        for (const Key<Target>& key : keys) names.push_back(key.name);
        report_unknown_key(entry, section, names, report);
    }
}

/// read_entries for a key whose value must be a table.
template <class Target, std::size_t count>
void read_table(const Entry& entry, const Key<Target> (&keys)[count], Target& target, Report& report) {
    if (const auto* table = entry.value.as<Value::Table>()) {
        read_entries(*table, entry.key, keys, target, report);
    } else {
        report_not_allowed(entry, "a table", report);
    }
}

}  // namespace fp32shim::policy
