#include "cli/options.hpp"

#include <algorithm>

namespace fp32shim::cli {

CLI::Option* add_choice(CLI::App& app, const std::string& name, std::string& value,
                        const std::vector<std::string_view>& words, const std::string& description) {
    CLI::Option* option = app.add_option(name, value, description);
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

CLI::Option* add_format(CLI::App& app, std::string& value, const std::vector<std::string_view>& words) {
    value = words.front();
    return add_choice(app, "--format", value, words, "How to write the result; " + value + " where not given");
}

}  // namespace fp32shim::cli
