// Options that several commands share, declared so that --help, the errors and the completion files agree: an
// option's type name is its list of words (`table|json`), FILE, FOLDER, or a name that says what to write.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "policy/report.hpp"
#include "policy/words.hpp"

namespace fp32shim::cli {

/// An option with a closed list of words; case does not matter, another word is an error that names the nearest one.
/// The words must outlive the app: they are constants.
CLI::Option* add_choice(CLI::App& app, const std::string& name, std::string& value,
                        const std::vector<std::string_view>& words, const std::string& description);

/// The same, for an option that may be given several times, with one word each.
CLI::Option* add_choices(CLI::App& app, const std::string& name, std::vector<std::string>& values,
                         const std::vector<std::string_view>& words, const std::string& description);

/// The names of a table of policy/words.hpp, each value's first: without the aliases, which are allowed too.
template <class Words>
std::vector<std::string_view> names_of(const Words& words) {
    std::vector<std::string_view> names;
    for (const auto& word : words) {
        if (policy::name_of(words, word.value) == word.text) names.push_back(word.text);
    }
    return names;
}

/// An option with the words of such a table, aliases included.
template <class Words>
CLI::Option* add_word(CLI::App& app, const std::string& name, std::string& value, const Words& words,
                      const std::string& description) {
    CLI::Option* option = app.add_option(name, value, description);
    std::string type;
    for (const std::string_view word : names_of(words)) (type += type.empty() ? "" : "|") += word;
    const std::vector<std::string_view> allowed = policy::texts_of(words);
    return option->type_name(type)->check([allowed, &words](const std::string& text) {
        return policy::parse_word(words, text) ? std::string() : policy::not_one_of(text, allowed);
    });
}

/// `--format`, whose first word is the default.
CLI::Option* add_format(CLI::App& app, std::string& value, const std::vector<std::string_view>& words);

/// `PID`.
CLI::Option* add_process_id(CLI::App& app, std::int32_t& value, const std::string& description);

}  // namespace fp32shim::cli
