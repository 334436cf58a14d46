// Options that several commands share. The type name of an option is its list of words (`table|json`), FILE, FOLDER
// or another placeholder. --help, errors and completion files use it.
#pragma once

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "policy/messages.hpp"
#include "policy/words.hpp"

namespace fp32shim::cli {

/// Returns the word; if it has brackets like `[a,b]`, with a character at its end that keeps CLI11 from splitting it.
/// without_split_guard() removes this character. After remove_split_guards(), an option removes it from its values.
std::string with_split_guard(const std::string& word);
std::string without_split_guard(const std::string& word);
void remove_split_guards(CLI::Option& option);

/// Adds an option with a closed list of words, in upper or lower case. The error message for another word suggests
/// the most similar one. The words must be constants that outlive the app.
CLI::Option* add_choice(CLI::App& app, const std::string& name, std::string& value,
                        const std::vector<std::string_view>& words, const std::string& description);

/// Adds an option that may be given several times, each time with one value.
CLI::Option* add_values(CLI::App& app, const std::string& name, std::vector<std::string>& values,
                        const std::string& description);

/// Adds an option that takes words of a closed list, several times or separated by commas and blanks.
CLI::Option* add_choices(CLI::App& app, const std::string& name, std::vector<std::string>& values,
                         const std::vector<std::string_view>& words, const std::string& description);

/// Returns `a|b|c`, the type name of an option with a closed list of words.
std::string joined_by_bars(const std::vector<std::string_view>& words);

/// Adds an option that accepts the words of a table in policy/words.hpp, including aliases.
template <class Words>
CLI::Option* add_word(CLI::App& app, const std::string& name, std::string& value, const Words& words,
                      const std::string& description) {
    return app.add_option(name, value, description)
        ->type_name(joined_by_bars(policy::texts_of(words)))
        ->check([&words](const std::string& text) {
            return policy::parse_word(words, text) ? std::string()
                                                   : policy::unknown_word_error(text, policy::texts_of(words));
        });
}

/// Adds the positional option `RECORDING` of commands that read the last run kept here if none is named.
CLI::Option* add_recordings(CLI::App& app, std::vector<std::string>& recordings);

/// Adds an option whose value is a name. An empty value, as from an unset variable, is an error. `type` is a
/// placeholder such as `FILE`.
CLI::Option* add_name(CLI::App& app, const std::string& name, std::string& value, const std::string& type,
                      const std::string& description);

/// Adds `--output FILE`. `value` becomes the path of the file; empty for stdout, which `-` also stands for.
CLI::Option* add_output(CLI::App& app, std::string& value);

/// Adds an option of type `SIZE`, a number as in policies: `4096`, `2K`, `2G`.
CLI::Option* add_size(CLI::App& app, const std::string& name, std::int64_t& value, const std::string& description);

/// Adds an option of type `COUNT`, a whole number of at least `lowest`.
CLI::Option* add_count(CLI::App& app, const std::string& name, std::int64_t& value, std::int64_t lowest,
                       const std::string& description);

/// Adds an option of type `SECONDS`, from `lowest` to a day.
CLI::Option* add_seconds(CLI::App& app, const std::string& name, double& value, double lowest,
                         const std::string& description);

/// Adds an option of type `NUMBER`, a finite number of at least 0.
CLI::Option* add_number(CLI::App& app, const std::string& name, double& value, const std::string& description);

/// Adds `--format` with these words, the first of which is the default, and `--json` if it is one of them. Calls
/// `take` with the given word.
CLI::Option* add_format(CLI::App& app, const std::vector<std::string_view>& words,
                        const std::function<void(const std::string&)>& take);

/// Adds `--format` with a table of formats, each of which has a `name`. `format` becomes the named one, by default
/// the first.
template <class Format>
CLI::Option* add_format(CLI::App& app, const Format*& format, std::span<const Format> formats) {
    format = formats.data();
    std::vector<std::string_view> names;
    for (const Format& each : formats) names.push_back(each.name);
    return add_format(app, names, [&format, formats](const std::string& name) {
        format = &*std::ranges::find(formats, name, &Format::name);
    });
}

/// If no option chose a format, chooses the one whose `extension` ends the name of the output: the longest if several
/// do, and the first format if none does. Returns an error message for a name with the ending of a foreign format,
/// such as `.pdf`; empty otherwise.
template <class Format>
std::string choose_format(const Format*& format, const std::string& output, std::span<const Format> formats) {
    if (format != nullptr) return {};
    format = formats.data();
    for (const Format& each : formats)
        if (each.extension.size() > format->extension.size() && output.ends_with(each.extension)) format = &each;
    constexpr std::string_view foreign[] = {".pdf", ".png", ".svg", ".xlsx", ".docx"};
    if (std::ranges::none_of(foreign, [&](std::string_view ending) { return output.ends_with(ending); })) return {};
    std::vector<std::string_view> endings;
    for (const Format& each : formats)
        if (!each.extension.empty()) endings.push_back(each.extension);
    return "--output: found " + policy::in_quotes(output) + "; allowed endings: " + policy::joined(endings);
}

/// Adds `--format table|json`.
CLI::Option* add_table_or_json(CLI::App& app, bool& is_json);

/// Parses a process id; nullopt if the word is not one.
std::optional<std::int32_t> parse_process_id(const std::string& word);
/// Returns the message for a word that is not a process id.
std::string invalid_process_id_message(const std::string& word);

/// Adds the positional option `PID`.
CLI::Option* add_process_id(CLI::App& app, std::int32_t& value, const std::string& description);

}  // namespace fp32shim::cli
