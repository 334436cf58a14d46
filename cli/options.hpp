// Options that several commands share, declared so that --help, the errors and the completion files agree: an
// option's type name is its list of words (`table|json`), FILE, FOLDER, or a name that says what to write.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "policy/messages.hpp"
#include "policy/words.hpp"

namespace fp32shim::cli {

/// CLI11 takes a word `[a,b]` for two where an option takes several. `as_whole` marks it, so that it stays one;
/// `take_whole_words` has the option take the mark off again, before it looks at the word.
std::string as_whole(const std::string& word);
std::string without_mark(const std::string& word);
void take_whole_words(CLI::Option& option);

/// An option with a closed list of words; case does not matter, another word is an error that names the nearest one.
/// The words must outlive the app: they are constants.
CLI::Option* add_choice(CLI::App& app, const std::string& name, std::string& value,
                        const std::vector<std::string_view>& words, const std::string& description);

/// An option that may be given several times, with one value each.
CLI::Option* add_values(CLI::App& app, const std::string& name, std::vector<std::string>& values,
                        const std::string& description);

/// The same, with one word of a closed list each.
CLI::Option* add_choices(CLI::App& app, const std::string& name, std::vector<std::string>& values,
                         const std::vector<std::string_view>& words, const std::string& description);

/// `a|b|c`, as the type of an option with a closed list of words.
std::string alternatives(const std::vector<std::string_view>& words);

/// An option with the words of a table of policy/words.hpp, aliases included.
template <class Words>
CLI::Option* add_word(CLI::App& app, const std::string& name, std::string& value, const Words& words,
                      const std::string& description) {
    return app.add_option(name, value, description)
        ->type_name(alternatives(policy::texts_of(words)))
        ->check([&words](const std::string& text) {
            return policy::parse_word(words, text) ? std::string()
                                                   : policy::not_one_of(text, policy::texts_of(words));
        });
}

/// `FILE`, or another type: a name, which an unset variable of a shell is not.
CLI::Option* add_name(CLI::App& app, const std::string& name, std::string& value, const std::string& type,
                      const std::string& description);

/// `SIZE`, as in policies, but for ranges: `4096`, `2K`, `2G`.
CLI::Option* add_size(CLI::App& app, const std::string& name, std::int64_t& value, const std::string& description);

/// `COUNT`, a whole number of at least `lowest`.
CLI::Option* add_count(CLI::App& app, const std::string& name, std::int64_t& value, std::int64_t lowest,
                       const std::string& description);

/// `SECONDS`, from `lowest` to a day.
CLI::Option* add_seconds(CLI::App& app, const std::string& name, double& value, double lowest,
                         const std::string& description);

/// `--format`, whose first word is the default.
CLI::Option* add_format(CLI::App& app, std::string& value, const std::vector<std::string_view>& words);

/// The process id that `word` is; absent where it is none, which the other one says.
std::optional<std::int32_t> process_id(const std::string& word);
std::string not_a_process_id(const std::string& word);

/// `PID`.
CLI::Option* add_process_id(CLI::App& app, std::int32_t& value, const std::string& description);

}  // namespace fp32shim::cli
