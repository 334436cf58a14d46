#include "cli/command_line/options.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <limits>
#include <system_error>

#include "policy/quantity.hpp"

namespace fp32shim::cli {
namespace {

/// Parses all of `text` as a number. Returns nullopt if it is not a number.
template <class Number>
std::optional<Number> parse_number(const std::string& text) {
    Number number{};
    const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
    return problem == std::errc() && end == text.data() + text.size() ? std::optional(number) : std::nullopt;
}

CLI::Option* limit_to_words(CLI::Option* option, const std::vector<std::string_view>& words) {
    return option->type_name(joined_by_bars(words))
        ->transform(CLI::Validator(
            [words](std::string& text) {
                const auto word = std::ranges::find_if(
                    words, [&](std::string_view candidate) { return policy::equal_ignoring_case(candidate, text); });
                if (word == words.end()) return policy::unknown_word_error(text, words);
                text = *word;
                return std::string();
            },
            ""));
}

/// Gives an option the type name `type`, and makes CLI11 refuse an empty value.
CLI::Option* require_name(CLI::Option* option, const std::string& type) {
    return option->type_name(type)->check([type](const std::string& text) {
        return text.empty() ? "found \"\"; allowed: " + type + "; omit the option for none" : std::string();
    });
}

/// Adds an option whose value is a number that `is_allowed` accepts.
template <class Number, class IsAllowed>
CLI::Option* add_checked_number(CLI::App& app, const std::string& name, Number& value, const std::string& description,
                                const std::string& type, const std::string& allowed, const IsAllowed& is_allowed) {
    return app.add_option(name, value, description)->type_name(type)->check([=](const std::string& text) {
        const auto number = parse_number<Number>(text);
        return number && is_allowed(*number) ? std::string()
                                             : fmt::format("found {}; allowed: {}", policy::in_quotes(text), allowed);
    });
}

constexpr char split_guard = '\0';  // a character that no argument can contain

}  // namespace

std::string with_split_guard(const std::string& word) {
    return word.starts_with('[') && word.ends_with(']') ? word + split_guard : word;
}

std::string without_split_guard(const std::string& word) { return word.substr(0, word.find(split_guard)); }

void remove_split_guards(CLI::Option& option) {
    const auto remove_guard = [](std::string& word) {
        word = without_split_guard(word);
        return std::string();
    };
    option.transform(CLI::Validator(remove_guard, ""));
}

std::string joined_by_bars(const std::vector<std::string_view>& words) {
    return fmt::format("{}", fmt::join(words, "|"));
}

CLI::Option* add_choice(CLI::App& app, const std::string& name, std::string& value,
                        const std::vector<std::string_view>& words, const std::string& description) {
    return limit_to_words(app.add_option(name, value, description), words);
}

CLI::Option* add_values(CLI::App& app, const std::string& name, std::vector<std::string>& values,
                        const std::string& description) {
    // By default, CLI11 takes all words up to the next option as values, even the names of recordings.
    return app.add_option(name, values, description)
        ->expected(1)
        ->allow_extra_args(false)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

CLI::Option* add_choices(CLI::App& app, const std::string& name, std::vector<std::string>& values,
                         const std::vector<std::string_view>& words, const std::string& description) {
    const auto without_blanks = [](std::string& word) {
        CLI::detail::trim(word);
        return std::string();
    };
    return limit_to_words(add_values(app, name, values, description), words)
        ->delimiter(',')
        ->transform(CLI::Validator(without_blanks, ""));
}

CLI::Option* add_format(CLI::App& app, const std::vector<std::string_view>& words,
                        const std::function<void(const std::string&)>& take) {
    const std::string description = fmt::format("Format of the result; default: {}", words.front());
    CLI::Option* const format = limit_to_words(app.add_option_function("--format", take, description), words);
    if (std::ranges::count(words, "json") > 0)
        app.add_flag_callback(
               "--json", [take] { take("json"); }, "Short for --format json")
            ->excludes(format);
    return format;
}

CLI::Option* add_table_or_json(CLI::App& app, bool& is_json) {
    return add_format(app, {"table", "json"}, [&is_json](const std::string& word) { is_json = word == "json"; });
}

CLI::Option* add_recordings(CLI::App& app, std::vector<std::string>& recordings) {
    return app
        .add_option("RECORDING", recordings,
                    "Recordings, folders with recordings, or globs; default: the last run kept in .fp32shim/")
        ->type_name("FILE");
}

CLI::Option* add_name(CLI::App& app, const std::string& name, std::string& value, const std::string& type,
                      const std::string& description) {
    return require_name(app.add_option(name, value, description), type);
}

CLI::Option* add_output(CLI::App& app, std::string& value) {
    const std::function<void(const std::string&)> take = [&value](const std::string& text) {
        value = text == "-" ? "" : text;
    };
    return require_name(
        app.add_option_function("-o,--output", take, "Write to this file, completely or not at all; -: stdout"),
        "FILE");
}

CLI::Option* add_size(CLI::App& app, const std::string& name, std::int64_t& value, const std::string& description) {
    const auto read = [](std::string& text) {
        const auto size = policy::parse_size(text);
        if (!size || *size > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
            return "found " + policy::in_quotes(text) + "; allowed: a whole number, such as 4096, 2K, 2M or 2G";
        text = std::to_string(*size);
        return std::string();
    };
    return app.add_option(name, value, description)->type_name("SIZE")->transform(CLI::Validator(read, ""));
}

CLI::Option* add_count(CLI::App& app, const std::string& name, std::int64_t& value, std::int64_t lowest,
                       const std::string& description) {
    return add_checked_number(app, name, value, description, "COUNT", fmt::format("a whole number from {}", lowest),
                              [lowest](std::int64_t count) { return count >= lowest; });
}

CLI::Option* add_seconds(CLI::App& app, const std::string& name, double& value, double lowest,
                         const std::string& description) {
    static constexpr double highest = 86400;
    return add_checked_number(app, name, value, description, "SECONDS",
                              fmt::format("seconds from {} to {}", lowest, highest),
                              [lowest](double seconds) { return seconds >= lowest && seconds <= highest; });
}

CLI::Option* add_number(CLI::App& app, const std::string& name, double& value, const std::string& description) {
    return add_checked_number(app, name, value, description, "NUMBER", "a number from 0, such as 1e-3",
                              [](double number) { return number >= 0 && std::isfinite(number); });
}

std::optional<std::int32_t> parse_process_id(const std::string& word) {
    const auto number = parse_number<std::int32_t>(word);
    return number && *number > 0 ? number : std::nullopt;
}

std::string invalid_process_id_message(const std::string& word) {
    return policy::in_quotes(word) + " is not a process id; fp32shim ps lists the processes that are recording";
}

CLI::Option* add_process_id(CLI::App& app, std::int32_t& value, const std::string& description) {
    return app.add_option("PID", value, description)->type_name("PID")->check([](const std::string& text) {
        return parse_process_id(text) ? std::string() : invalid_process_id_message(text);
    });
}

}  // namespace fp32shim::cli
