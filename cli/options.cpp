#include "cli/options.hpp"

#include <algorithm>
#include <charconv>
#include <system_error>

namespace fp32shim::cli {

namespace {

CLI::Option* limit_to(CLI::Option* option, const std::vector<std::string_view>& words) {
    std::string type;
    for (const std::string_view word : words) (type += type.empty() ? "" : "|") += word;
    return option->type_name(type)->transform(CLI::Validator(
        [words](std::string& text) {
            const auto word = std::find_if(words.begin(), words.end(), [&](std::string_view candidate) {
                return policy::equal_ignoring_case(candidate, text);
            });
            if (word == words.end()) return policy::not_one_of(text, words);
            text = *word;
            return std::string();
        },
        ""));
}

}  // namespace

CLI::Option* add_choice(CLI::App& app, const std::string& name, std::string& value,
                        const std::vector<std::string_view>& words, const std::string& description) {
    return limit_to(app.add_option(name, value, description), words);
}

CLI::Option* add_choices(CLI::App& app, const std::string& name, std::vector<std::string>& values,
                         const std::vector<std::string_view>& words, const std::string& description) {
    return limit_to(app.add_option(name, values, description), words)
        ->type_size(1)
        ->expected(1)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

CLI::Option* add_format(CLI::App& app, std::string& value, const std::vector<std::string_view>& words) {
    value = words.front();
    return add_choice(app, "--format", value, words, "How to write the result; " + value + " where not given");
}

CLI::Option* add_process_id(CLI::App& app, std::int32_t& value, const std::string& description) {
    return app.add_option("PID", value, description)->type_name("PID")->check([](const std::string& text) {
        std::int32_t number = 0;
        const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
        const bool is_number = problem == std::errc() && end == text.data() + text.size() && number > 0;
        return is_number ? std::string()
                         : policy::quoted(text) + " is no process id; fp32shim ps lists those that record";
    });
}

}  // namespace fp32shim::cli
