// The `fp32shim` command: parses the options of one sub-command and runs it, or prints what is wrong with the options
// in one line.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <string>
#include <string_view>
#include <vector>

#include "cli/binaries/program_file.hpp"
#include "cli/command_line/application.hpp"
#include "cli/command_line/commands.hpp"
#include "cli/command_line/options.hpp"
#include "cli/output/shell_words.hpp"
#include "cli/output/terminal.hpp"
#include "policy/messages.hpp"

namespace fp32shim::cli {
namespace {

bool takes_value(const CLI::App& app, const std::string& word) {
    const CLI::Option* option = app.get_option_no_throw(word);
    return option != nullptr && option->get_items_expected_max() > 0;
}

/// Returns the index in `words` of PROGRAM, or of the `--` before it. PROGRAM is the first word that is neither an
/// option nor an option's value. All words after it belong to the program.
std::size_t where_program_begins(const CLI::App& app, const std::vector<std::string>& words) {
    std::size_t i = 0;
    while (i < words.size()) {
        const std::string& word = words[i];
        if (word == "--" || word.size() < 2 || word[0] != '-') break;
        const bool has_value_inside = word.find('=') != std::string::npos;
        i += !has_value_inside && takes_value(app, word) ? 2 : 1;
    }
    return std::min(i, words.size());
}

/// Inserts a `--` before PROGRAM, which is at index `begin`, so that CLI11 parses no later word as an option.
std::vector<std::string> with_program_marked(std::vector<std::string> words, std::size_t begin) {
    if (words[begin] != "--") words.insert(words.begin() + static_cast<std::ptrdiff_t>(begin), "--");
    return words;
}

/// Returns `words` with changes that prevent two misreadings by CLI11. It would split the word `[a,b]` into two
/// words, and it would take the word after an empty `--output=` as the value of this option.
std::vector<std::string> with_whole_words(const CLI::App& app, const std::vector<std::string>& words) {
    std::vector<std::string> kept;
    bool is_behind_options = false;
    for (const std::string& word : words) {
        is_behind_options = is_behind_options || word == "--";
        const std::string name = word.substr(0, word.find('='));
        if (!is_behind_options && word.starts_with("--") && word == name + '=' && takes_value(app, name))
            kept.insert(kept.end(), {name, ""});
        else
            kept.push_back(with_split_guard(word));
    }
    return kept;
}

/// Returns the allowed values of an option as a list: `native, high` if its type is `native|high`.
std::string allowed_values(const CLI::Option& option) {
    std::string text = option.get_type_name();
    for (std::size_t at = text.find('|'); at != std::string::npos; at = text.find('|', at)) text.replace(at, 1, ", ");
    return text;
}

std::string several_values(const CLI::Option& option) {
    std::string found;
    for (const std::string& value : option.results())
        (found += found.empty() ? "" : " and ") += policy::in_quotes(value);
    return option.get_name() + ": found " + found + "; allowed: one value";
}

/// Returns the message for an option that was given several values, or that lacks its value because it is the last
/// word. Returns an empty text if there is no such option.
std::string message_for_value_count(const CLI::App& app, const std::string& last_word) {
    if (takes_value(app, last_word)) {
        const CLI::Option& option = *app.get_option_no_throw(last_word);
        return option.get_name() + ": found no value; allowed: " + allowed_values(option);
    }
    for (const CLI::Option* option : app.get_options()) {
        const bool takes_one = option->get_items_expected_max() == 1 &&
                               option->get_multi_option_policy() == CLI::MultiOptionPolicy::Throw;
        if (takes_one && option->count() > 1) return several_values(*option);
    }
    return {};
}

/// Returns the message for two given options that exclude each other; empty if no two options do.
std::string message_for_exclusion(const CLI::App& app) {
    for (const CLI::Option* option : app.get_options()) {
        if (option->count() == 0) continue;
        for (const CLI::Option* other : option->get_excludes())
            if (other->count() > 0)
                return option->get_name() + ": found together with " + other->get_name() +
                       "; allowed: one of the two";
    }
    return {};
}

bool is_boolean(const CLI::Option& flag) {
    try {
        static_cast<void>(flag.as<bool>());
        return true;
    } catch (const CLI::ConversionError&) {
        return false;
    }
}

/// Returns the message for a flag with a value; empty if there is no such flag. Boolean values, as in `--pin=true`,
/// are no error, since CLI11 accepts them.
std::string message_for_flag_value(const CLI::App& app) {
    for (const CLI::Option* option : app.get_options())
        if (option->get_items_expected_max() == 0 && option->count() > 0 && !is_boolean(*option))
            return option->get_name() + ": found " + policy::in_quotes(option->results().back()) +
                   "; allowed: no value";
    return {};
}

/// Returns the message for the first word that no option took; empty if there is none.
std::string message_for_extra_word(const CLI::App& app) {
    std::vector<std::string> words = app.remaining();
    std::erase(words, "--");
    const std::string unexpected = words.empty() ? "" : without_split_guard(words.front());
    if (unexpected.empty()) return {};
    if (!unexpected.starts_with('-')) {
        const CLI::Option* const needed = app.get_option_no_throw("--function");
        return "did not expect the argument " + policy::in_quotes(unexpected) +
               (needed != nullptr && needed->get_required() ? "; did you mean --function " + unexpected + "?" : "");
    }
    std::vector<std::string> names;
    for (const CLI::Option* option : app.get_options())
        for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
    return "unknown option " + policy::in_quotes(unexpected) +
           policy::did_you_mean(unexpected, {names.begin(), names.end()});
}

/// Returns the message for an error that CLI11 found. It names the option, the given value and the allowed values.
/// `last_word` is the last word of the options, or empty if a program follows them.
std::string message_for_error(const CLI::App& app, const CLI::ParseError& error, const std::string& last_word) {
    std::string problem = message_for_extra_word(app);
    if (problem.empty() && dynamic_cast<const CLI::ArgumentMismatch*>(&error) != nullptr)
        problem = message_for_value_count(app, last_word);
    if (problem.empty() && dynamic_cast<const CLI::ExcludesError*>(&error) != nullptr)
        problem = message_for_exclusion(app);
    // Only flags cause a conversion error, because the values of other options are checked before they are converted.
    if (problem.empty() && dynamic_cast<const CLI::ConversionError*>(&error) != nullptr)
        problem = message_for_flag_value(app);
    return problem.empty() ? error.what() : problem;
}

int report_usage(const Command& command, const std::string& problem) {
    const std::string name(command.name);
    say(name, problem + (problem.ends_with('?') ? " See: fp32shim " : "; see: fp32shim ") + name + " --help");
    return command.usage_failure;
}

int unknown_command(const std::vector<std::string>& words) {
    const std::string& word = words.front();
    if (find_program(word, std::getenv("PATH")).lookup == Lookup::found)
        return usage_error("", policy::in_quotes(word) +
                                   " is a program, not a command; did you mean: fp32shim run -- " +
                                   shell_words(words));
    std::vector<std::string_view> names;
    for (const Command& command : commands()) names.push_back(command.name);
    names.insert(names.end(), {"--help", "--version"});
    return usage_error("", (word.starts_with('-') ? "unknown option: " : "unknown command: ") +
                               policy::unknown_word_error(word, names) + "; see: fp32shim --help");
}

/// Flushes stdout and returns `status`. If the output could not be written, prints a message and returns `failure`.
int status_after_flush(std::string_view command, int status, int failure) {
    if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return status;
    say(command, std::string("the output could not be written: ") + std::strerror(errno));
    return failure;
}

int status_after_flush(const Command& command, int status) {
    return status_after_flush(command.name, status, command.usage_failure);
}

/// Returns the first of the program's words that is also an option of `app`, because the user may have meant it for
/// fp32shim. The program's words begin at the index `program`. Words after a `--` do not count. Returns an empty text
/// if there is no such word.
std::string misplaced_option(const CLI::App& app, const std::vector<std::string>& words, std::size_t program) {
    for (std::size_t i = program; i < words.size() && words[i] != "--"; ++i)
        if (words[i].starts_with("--") && app.get_option_no_throw(words[i].substr(0, words[i].find('='))) != nullptr)
            return words[i];
    return {};
}

int run_command(const Command& command, std::vector<std::string> words) {
    const CommandParser defined = make_command_parser(command);
    CLI::App& app = *defined.app;
    const std::size_t program = command.takes_program ? where_program_begins(app, words) : words.size();
    const std::string last_word = words.empty() || program < words.size() ? "" : words.back();
    const std::string misplaced = misplaced_option(app, words, program);
    if (program < words.size()) words = with_program_marked(std::move(words), program);
    words = with_whole_words(app, words);
    std::reverse(words.begin(), words.end());  // CLI11 reads the words from the end of the vector
    try {
        app.parse(words);
    } catch (const CLI::CallForHelp&) {
        print(app.help());
        return status_after_flush(command, exit_code::ok);
    } catch (const CLI::CallForVersion&) {
        print("fp32shim " FP32SHIM_VERSION "\n");
        return status_after_flush(command, exit_code::ok);
    } catch (const CLI::ParseError& error) {
        return report_usage(command, message_for_error(app, error, last_word));
    }
    if (const std::string problem = message_for_extra_word(app); !problem.empty())
        return report_usage(command, problem);
    try {
        const int status = defined.action();
        if (status != exit_code::ok && !misplaced.empty())
            say(command.name,
                misplaced + " stood behind PROGRAM, so it was the program's; the command's own options go before it");
        return status_after_flush(command, status);
    } catch (const std::exception& error) {
        say(command.name, std::string("gave up: ") + error.what());
        return command.usage_failure;
    }
}

int fp32shim_main(std::vector<std::string> words) {
    if (words.size() > 1 && words.front() == "help") words = {words[1], "--help"};
    const std::string first = words.empty() ? "--help" : words.front();
    if (first == "--help" || first == "-h" || first == "help") {
        print(general_help_text());
        return status_after_flush("", words.empty() ? exit_code::usage : exit_code::ok, exit_code::usage);
    }
    if (first == "--version" || first == "-V") {
        print("fp32shim " FP32SHIM_VERSION "\n");
        return status_after_flush("", exit_code::ok, exit_code::usage);
    }
    for (const Command& command : commands()) {
        if (command.name != first) continue;
        words.erase(words.begin());
        return run_command(command, std::move(words));
    }
    return unknown_command(words);
}

}  // namespace
}  // namespace fp32shim::cli

int main(int argc, char** argv) {
    try {
        return fp32shim::cli::fp32shim_main({argv + std::min(argc, 1), argv + argc});
    } catch (const std::exception& error) {
        fp32shim::cli::say("", error.what());
        return fp32shim::cli::exit_code::usage;
    }
}
