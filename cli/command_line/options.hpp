// Declares the functions that add options which several commands have. The type name of an option is a list of its
// allowed words, such as `table|json`, or a placeholder, such as FILE or FOLDER. The help texts, error messages and
// completion files use the type names.
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

/// Returns `word`, with one more character (the split guard) at its end if it is in brackets, like `[a,b]`. The split
/// guard keeps CLI11 from splitting the word at its commas.
std::string with_split_guard(const std::string& word);
/// Returns `word` without its split guard, if it has one.
std::string without_split_guard(const std::string& word);
/// Makes `option` remove the split guards from its values.
void remove_split_guards(CLI::Option& option);

/// Adds an option whose value is one of `words`, in upper or lower case. The error message for another word suggests
/// the most similar one. The words must be constants that outlive the app.
CLI::Option* add_choice(CLI::App& app, const std::string& name, std::string& value,
                        const std::vector<std::string_view>& words, const std::string& description);

/// Adds an option that may be given several times, each time with one value.
CLI::Option* add_values(CLI::App& app, const std::string& name, std::vector<std::string>& values,
                        const std::string& description);

/// Adds an option that takes several of `words`. The option may be given several times, and each value may have
/// several words, separated by commas and blanks.
CLI::Option* add_choices(CLI::App& app, const std::string& name, std::vector<std::string>& values,
                         const std::vector<std::string_view>& words, const std::string& description);

/// Returns `a|b|c`, the type name of an option that allows only these words.
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

/// Adds the positional option `RECORDING`. If no recording is named, the command reads the last run that is kept in
/// the folder .fp32shim.
CLI::Option* add_recordings(CLI::App& app, std::vector<std::string>& recordings);

/// Adds an option whose value is a name. An empty value, which an unset shell variable gives, is an error. `type` is
/// a placeholder such as `FILE`.
CLI::Option* add_name(CLI::App& app, const std::string& name, std::string& value, const std::string& type,
                      const std::string& description);

/// Adds the option `--output FILE`. `value` becomes the path of the file, or empty for `-`. An empty path means
/// stdout.
CLI::Option* add_output(CLI::App& app, std::string& value);

/// Adds an option of type `SIZE`, a number as in policies: `4096`, `2K`, `2G`.
CLI::Option* add_size(CLI::App& app, const std::string& name, std::int64_t& value, const std::string& description);

/// Adds an option of type `COUNT`, a whole number of at least `lowest`.
CLI::Option* add_count(CLI::App& app, const std::string& name, std::int64_t& value, std::int64_t lowest,
                       const std::string& description);

/// Adds an option of type `SECONDS`, whose value is at least `lowest` and at most a day.
CLI::Option* add_seconds(CLI::App& app, const std::string& name, double& value, double lowest,
                         const std::string& description);

/// Adds an option of type `NUMBER`, a finite number of at least 0.
CLI::Option* add_number(CLI::App& app, const std::string& name, double& value, const std::string& description);

/// Adds the option `--format`, whose value is one of `words`. The first of `words` is the default. If `json` is among
/// them, also adds `--json`, which is short for `--format json`. Both options call `take` with the word.
CLI::Option* add_format(CLI::App& app, const std::vector<std::string_view>& words,
                        const std::function<void(const std::string&)>& take);

/// Adds the option `--format`, whose value is the `name` of one of `formats`. `format` becomes the format with this
/// name, or by default the first format.
template <class Format>
CLI::Option* add_format(CLI::App& app, const Format*& format, std::span<const Format> formats) {
    format = formats.data();
    std::vector<std::string_view> names;
    for (const Format& each : formats) names.push_back(each.name);
    return add_format(app, names, [&format, formats](const std::string& name) {
        format = &*std::ranges::find(formats, name, &Format::name);
    });
}

/// If `format` is null because no option chose one, chooses a format by `output`, the name of a file: the format with
/// the longest `extension` that ends the name, or the first format if no extension does. Returns an error message if
/// the name has the ending of a format that no command writes, such as `.pdf`; empty otherwise.
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

/// Adds the option `--format table|json`. Sets `is_json` to true if the word is `json`.
CLI::Option* add_table_or_json(CLI::App& app, bool& is_json);

/// Parses a process id. Returns nullopt if `word` is not a process id.
std::optional<std::int32_t> parse_process_id(const std::string& word);
/// Returns the message for a word that is not a process id.
std::string invalid_process_id_message(const std::string& word);

/// Adds the positional option `PID`.
CLI::Option* add_process_id(CLI::App& app, std::int32_t& value, const std::string& description);

}  // namespace fp32shim::cli
