#include "cli/usage.hpp"

#include "cli/options.hpp"
#include "policy/messages.hpp"

namespace fp32shim::cli {
namespace {

/// Returns the first word that no option took; empty if there is none.
std::string unexpected_word(const CLI::App& app) {
    for (const std::string& word : app.remaining()) {
        if (word != "--") return without_mark(word);
    }
    return {};
}

/// Returns the option that an error names: `--precision` in `--precision: 1 required TEXT missing`.
const CLI::Option* option_of(const CLI::App& app, const std::string& message) {
    return app.get_option_no_throw(message.substr(0, message.find_first_of(": ")));
}

/// Returns the values that an option takes, from its type: a list of words for `native|high`, otherwise the type.
std::string allowed_values(const CLI::Option& option) {
    std::string text = option.get_type_name();
    for (std::size_t at = text.find('|'); at != std::string::npos; at = text.find('|', at)) text.replace(at, 1, ", ");
    return text;
}

/// Returns the message for an option with the wrong number of values: several, or none.
std::string problem_of_number(const CLI::App& app, const std::string& message) {
    const CLI::Option* option = option_of(app, message);
    if (option == nullptr) return message;
    const std::string name = option->get_name() + ": ";
    if (option->results().size() < 2) return name + "found no value; allowed: " + allowed_values(*option);
    std::string found;
    for (const std::string& value : option->results())
        (found += found.empty() ? "" : " and ") += policy::quoted(value);
    return name + "found " + found + "; allowed: one value";
}

/// Returns the message for two options that exclude each other.
std::string problem_of_company(const CLI::App& app, const std::string& message) {
    const CLI::Option* option = option_of(app, message);
    const CLI::Option* other = app.get_option_no_throw(message.substr(message.rfind(' ') + 1));
    if (option == nullptr || other == nullptr) return message;
    return option->get_name() + ": found together with " + other->get_name() + "; allowed: one of the two";
}

/// Returns the message for a flag with a value, which CLI11 reports as `Could not convert: --pin = abc`. Options that
/// take values never cause this error: their values are checked before.
std::string problem_of_flag(const std::string& message) {
    const std::size_t name = message.find("--");
    const std::size_t equals = message.find(" = ");
    if (name == std::string::npos || equals == std::string::npos) return message;
    return message.substr(name, equals - name) + ": found " + policy::quoted(message.substr(equals + 3)) +
           "; allowed: no value";
}

}  // namespace

std::string problem_of_extras(const CLI::App& app) {
    const std::string unexpected = unexpected_word(app);
    if (unexpected.empty()) return {};
    if (!unexpected.starts_with('-')) return "did not expect the argument " + policy::quoted(unexpected);
    std::vector<std::string> names;
    for (const CLI::Option* option : app.get_options()) {
        for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
    }
    return "unknown option " + policy::quoted(unexpected) +
           policy::did_you_mean(unexpected, {names.begin(), names.end()});
}

std::string problem_of(const CLI::App& app, const CLI::ParseError& error) {
    if (std::string problem = problem_of_extras(app); !problem.empty()) return problem;
    std::string message = error.what();
    if (dynamic_cast<const CLI::ArgumentMismatch*>(&error) != nullptr) return problem_of_number(app, message);
    if (dynamic_cast<const CLI::ExcludesError*>(&error) != nullptr) return problem_of_company(app, message);
    if (dynamic_cast<const CLI::ConversionError*>(&error) != nullptr) return problem_of_flag(message);
    return message;
}

}  // namespace fp32shim::cli
