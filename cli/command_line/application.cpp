#include "cli/command_line/application.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <utility>

#include "cli/command_line/options.hpp"

namespace fp32shim::cli {
namespace {

constexpr std::size_t help_width = 80;
constexpr std::size_t description_column = 34;

/// Breaks `text` at blanks and before `|` into lines of at most `help_width` columns. The first line begins in column
/// `begin`, and the later lines begin in column `indent`.
std::string broken_into_lines(std::string_view text, std::size_t begin, std::size_t indent) {
    std::string lines;
    for (std::size_t column = begin; !text.empty();) {
        std::string_view word = text.substr(0, std::min(text.find_first_of(" |", 1), text.size()));
        text.remove_prefix(word.size());
        if (column + word.size() > help_width) {
            lines += "\n" + std::string(indent, ' ');
            column = indent;
            if (word.starts_with(' ')) word.remove_prefix(1);
        }
        lines += word;
        column += word.size();
    }
    return lines;
}

/// Formats a command's help: its summary, usage, examples and options.
class HelpFormatter : public CLI::Formatter {
  public:
    explicit HelpFormatter(const Command& command) : command_(command) {}

    std::string make_help(const CLI::App* app, std::string name, CLI::AppFormatMode mode) const override {
        std::string text = fmt::format("{}.\n\n{}\nExamples:\n{}\n", command_.summary,
                                       make_usage(app, std::move(name)), command_.examples);
        text += make_positionals(app);
        std::string groups = make_groups(app, mode);
        // CLI11 puts two blank lines between groups of options, of which one is removed.
        if (const std::size_t gap = groups.find("\n\n\n"); gap != std::string::npos) groups.erase(gap, 1);
        return text + groups;
    }

    std::string make_usage(const CLI::App* app, std::string) const override {
        std::string text = fmt::format("Usage: fp32shim {} [OPTIONS]", command_.name);
        if (command_.takes_program) text += " [--]";
        for (const CLI::Option* option : app->get_options()) {
            if (!option->get_positional()) continue;
            std::string name = option->get_name(true);
            if (command_.takes_program)
                name += " [ARGUMENT...]";
            else if (option->get_items_expected_max() > 1)
                name += "...";
            text += option->get_required() ? " " + name : fmt::format(" [{}]", name);
        }
        return text + "\n";
    }

    std::string make_option(const CLI::Option* option, bool is_positional) const override {
        const std::string name = make_option_name(option, is_positional) + make_option_opts(option);
        std::string text = "  " + broken_into_lines(name, 2, 6);
        if (text.size() < description_column)
            text.resize(description_column, ' ');
        else
            text += "\n" + std::string(description_column, ' ');
        return text + broken_into_lines(make_option_desc(option), description_column, description_column) + "\n";
    }

    std::string make_option_opts(const CLI::Option* option) const override {
        // The name of a positional option, such as FILE, already tells its type, so the type is left out unless it is
        // a list of words.
        const std::string type = option->get_type_name();
        const bool is_said = option->get_positional() && type.find('|') == std::string::npos;
        return option->get_type_size() == 0 || is_said ? "" : " " + type;
    }

  private:
    Command command_;
};

}  // namespace

CommandParser make_command_parser(const Command& command) {
    auto app = std::make_unique<CLI::App>(std::string(command.summary), std::string(command.name));
    app->formatter(std::make_shared<HelpFormatter>(command));
    app->allow_extras();  // main.cpp reports words that no option takes
    app->set_help_flag("-h,--help", "Print this and exit");
    app->set_version_flag("-V,--version", "", "Print the version and exit");
    Action action = command.define(*app);
    for (CLI::Option* option : app->get_options())
        if (option->get_items_expected_max() > 0) remove_split_guards(*option);
    return {std::move(app), std::move(action)};
}

std::string general_help_text() {
    std::string text =
        "fp32shim chooses the precision of float32 matrix products in unmodified\n"
        "programs, and shows what they ran at.\n\n"
        "Usage: fp32shim COMMAND [OPTIONS]\n\n"
        "Commands:\n";
    for (const Command& command : commands()) text += fmt::format("  {:<12}{}\n", command.name, command.summary);
    return text +
           "\nExamples:\n"
           "  fp32shim run -- python3 model.py         what does it multiply?\n"
           "  fp32shim run --precision high -- ./prog  TF32, on newer GPUs\n"
           "  fp32shim run --help                      a command's options and examples\n"
           "\nExit codes: 0 success; 1 a problem was found; 2 wrong arguments, or they name\n"
           "something that does not exist; 3 inconclusive. `run` ends as its program does;\n"
           "125: run itself failed; 126: not executable; 127: not found.\n";
}

}  // namespace fp32shim::cli
