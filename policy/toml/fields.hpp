// Reads the value of one key. Each function returns a value that the key allows, or reports an error. Also declares
// read_rules(), which reads the [[rule]] tables.
#pragma once

#include <algorithm>
#include <limits>
#include <optional>
#include <string>

#include "policy/glob.hpp"
#include "policy/toml/document.hpp"
#include "policy/words.hpp"

namespace fp32shim::policy {

/// A key that a table may have, and the function that reads it.
template <class Target>
struct TableKey {
    std::string_view name;
    void (*read)(const TomlEntry& entry, Target& target, ErrorCollector& report);
};

/// Reports an entry whose value is not allowed: `limits: found 3; allowed: a table`.
void report_not_allowed(const TomlEntry& entry, std::string_view allowed, ErrorCollector& report);

/// Reports an element of a list that is not allowed.
void report_not_allowed(const TomlEntry& entry, const toml::node& element, std::string_view allowed,
                        ErrorCollector& report);

void report_unknown_key(const TomlEntry& entry, std::string_view section, const std::vector<std::string_view>& known,
                        ErrorCollector& report);

/// Reads a string that is not empty. Reports any other value, and returns nullopt.
std::optional<std::string> read_string(const TomlEntry& entry, ErrorCollector& report);

std::optional<bool> read_boolean(const TomlEntry& entry, ErrorCollector& report);

/// Reads a number within `range`. Reports any other value, and returns nullopt. `allowed` describes the range in
/// messages.
std::optional<double> read_number(const TomlEntry& entry, NumberRange range, std::string_view allowed,
                                  ErrorCollector& report);

/// Returns the items of a list, or a single value as a list of one. Reports an empty list and returns no items.
std::vector<const toml::node*> items_of_entry(const TomlEntry& entry, ErrorCollector& report);

/// Returns the value that `element` names in `words`, a table of words.hpp. Reports an element that is not in the
/// table.
auto read_word(const TomlEntry& entry, const toml::node& element, const auto& words, ErrorCollector& report)
    -> decltype(parse_word(words, {})) {
    const auto* text = value_as<std::string>(element);
    const auto value = text ? parse_word(words, *text) : std::nullopt;
    if (value) return value;
    if (text)
        report.add_error(position_of(element), entry.key + ": " + unknown_word_error(*text, texts_of(words)));
    else
        report_not_allowed(entry, element, joined(texts_of(words)), report);
    return std::nullopt;
}

auto read_word(const TomlEntry& entry, const auto& words, ErrorCollector& report) {
    return read_word(entry, *entry.value, words, report);
}

/// Assigns a value that was read. If reading failed (nullopt), `target` keeps its value.
template <class Target, class T>
void assign_if_read(Target& target, std::optional<T> value) {
    if (value) target = *std::move(value);
}

// Each of the following functions can be TableKey::read. It reads a value into the member `field` of the target.
template <auto field, class Target>
void read_string_into(const TomlEntry& entry, Target& target, ErrorCollector& report) {
    assign_if_read(target.*field, read_string(entry, report));
}
template <auto field, class Target>
void read_boolean_into(const TomlEntry& entry, Target& target, ErrorCollector& report) {
    assign_if_read(target.*field, read_boolean(entry, report));
}
template <auto field, class Target>
void read_positive_into(const TomlEntry& entry, Target& target, ErrorCollector& report) {
    constexpr NumberRange positive = {std::numeric_limits<double>::min(), std::numeric_limits<double>::max()};
    assign_if_read(target.*field, read_number(entry, positive, "a number greater than 0", report));
}
/// Reads a whole number from `least` to `most`. If `most` is INT64_MAX, messages name no upper limit.
template <auto field, std::int64_t least, std::int64_t most = INT64_MAX, class Target>
void read_whole_number_into(const TomlEntry& entry, Target& target, ErrorCollector& report) {
    const auto* number = value_as<std::int64_t>(*entry.value);
    const std::string upper_limit = most == INT64_MAX ? "" : " to " + std::to_string(most);
    if (number == nullptr || *number < least || *number > most)
        return report_not_allowed(entry, "a whole number from " + std::to_string(least) + upper_limit, report);
    target.*field = static_cast<std::remove_reference_t<decltype(target.*field)>>(*number);
}
template <auto field, const auto& words, class Target>
void read_word_into(const TomlEntry& entry, Target& target, ErrorCollector& report) {
    assign_if_read(target.*field, read_word(entry, words, report));
}

/// Reads a glob, or a list of globs.
template <auto field, class Target>
void read_globs_into(const TomlEntry& entry, Target& target, ErrorCollector& report) {
    for (const toml::node* item : items_of_entry(entry, report)) {
        const auto* glob = value_as<std::string>(*item);
        if (!glob)
            report_not_allowed(entry, *item, "a glob such as \"libtorch_*\", or a list of them", report);
        else if (!glob_is_well_formed(*glob))
            report.add_error(position_of(*item),
                             entry.key + ": found " + in_quotes(*glob) + ", in which a [ has no ]");
        else
            (target.*field).push_back(*glob);
    }
}

/// Reads a name or a number, or a list of names and numbers.
template <auto field, class Target>
void read_names_into(const TomlEntry& entry, Target& target, ErrorCollector& report) {
    for (const toml::node* item : items_of_entry(entry, report)) {
        const auto* text = value_as<std::string>(*item);
        const auto* number = value_as<std::int64_t>(*item);
        if (text != nullptr && !text->empty())
            (target.*field).push_back(*text);
        else if (number != nullptr && *number >= 0 && *number < UINT32_MAX)
            (target.*field).push_back(std::to_string(*number));
        else
            report_not_allowed(entry, *item, "a name, a number, or a list of these", report);
    }
}

/// Reads `split_k`. Only 1 is allowed, because cublasLt has no way to limit split-K to another number.
template <auto field, class Target>
void read_split_k_into(const TomlEntry& entry, Target& target, ErrorCollector& report) {
    const auto* number = value_as<std::int64_t>(*entry.value);
    if (number == nullptr || *number != 1)
        report_not_allowed(entry, "1, with which cublasLt computes each sum in one part", report);
    (target.*field).no_split_k = true;
}
template <auto field, class Target>
void read_reduction_into(const TomlEntry& entry, Target& target, ErrorCollector& report) {
    const auto* text = value_as<std::string>(*entry.value);
    if (text == nullptr || *text != "compute_type")
        report_not_allowed(entry, "\"compute_type\", in which cublasLt then adds the parts of split sums", report);
    (target.*field).reduces_in_compute_type = true;
}

/// Reads each entry of `table` whose name is in `keys` into `target`. Reports all other entries as unknown.
template <class Target, std::size_t count>
void read_entries(const toml::table& table, std::string_view section, const TableKey<Target> (&keys)[count],
                  Target& target, ErrorCollector& report) {
    for (const TomlEntry& entry : entries_of(table)) {
        const auto* const key = std::ranges::find(keys, entry.key, &TableKey<Target>::name);
        if (key != std::end(keys)) {
            key->read(entry, target, report);
            continue;
        }
        std::vector<std::string_view> names;
        for (const TableKey<Target>& known : keys) names.push_back(known.name);
        report_unknown_key(entry, section, names, report);
    }
}

/// Reads the table that is the value of `entry` by read_entries(). Reports an error if the value is not a table.
template <class Target, std::size_t count>
void read_table(const TomlEntry& entry, const TableKey<Target> (&keys)[count], Target& target,
                ErrorCollector& report) {
    if (const auto* table = entry.value->as_table())
        read_entries(*table, entry.key, keys, target, report);
    else
        report_not_allowed(entry, "a table", report);
}

template <const auto& keys, class Target>
void read_table_into(const TomlEntry& entry, Target& target, ErrorCollector& report) {
    read_table(entry, keys, target, report);
}

/// Appends the rules of the `rule` entry. A rule with an error is reported and still appended, so that a later rule
/// without a name keeps its number (`rule 3`). So the caller must not use the rules of a file with errors.
void read_rules(const TomlEntry& entry, std::vector<Rule>& rules, ErrorCollector& report);

}  // namespace fp32shim::policy
