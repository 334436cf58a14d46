#include "cli/application.hpp"

#include <fmt/format.h>

#include "cli/commands.hpp"

namespace fp32shim::cli {
namespace {

/// CLI11's help, in our order: what it does, how to write it, examples, options.
class HelpFormatter : public CLI::Formatter {
  public:
    explicit HelpFormatter(const Command& command) : command_(command) { column_width(34); }

    std::string make_help(const CLI::App* app, std::string name, CLI::AppFormatMode mode) const override {
        std::string text = fmt::format("{}.\n\n{}\nExamples:\n{}\n", command_.summary,
                                       make_usage(app, std::move(name)), command_.examples);
        text += make_positionals(app);
        text += make_groups(app, mode);
        return text;
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

    std::string make_option_opts(const CLI::Option* option) const override {
        // A positional's own name says what to write, but for a list of words.
        const std::string type = option->get_type_name();
        const bool is_said = option->get_positional() && type.find('|') == std::string::npos;
        return option->get_type_size() == 0 || is_said ? "" : " " + type;
    }

  private:
    Command command_;
};

}  // namespace

Application::Application() {
    for (const Command& command : commands()) {
        auto app = std::make_unique<CLI::App>(std::string(command.summary), std::string(command.name));
        app->formatter(std::make_shared<HelpFormatter>(command));
        app->allow_extras();  // main() has better words for them
        app->set_help_flag("-h,--help", "Print this and exit");
        app->set_version_flag("--version", "", "Print the version and exit");
        Action action = command.define(*app);
        defined_.emplace(command.name, Defined{std::move(app), std::move(action)});
    }
}

std::string Application::help() {
    std::string text =
        "fp32shim chooses the precision of the float32 matrix products of programs that cannot be changed, and "
        "shows\n"
        "what they ran at.\n\n"
        "Usage: fp32shim COMMAND [OPTIONS]\n\n"
        "Commands:\n";
    for (const Command& command : commands()) text += fmt::format("  {:<12}{}\n", command.name, command.summary);
    return text +
           "\nExamples:\n"
           "  fp32shim run -- python3 model.py                what does it multiply, and at what precision?\n"
           "  fp32shim run --precision high -- ./simulation   TF32 on GPUs of compute capability 8.0 and newer\n"
           "  fp32shim run --help                             the options of a command, with examples\n"
           "\nExit codes: 0 in order; 1 something was found; 2 wrong arguments, or what they name is not there; 3 "
           "it\n"
           "cannot be told. `run` ends as its program does; 125: it failed itself; 126: not executable; 127: not "
           "found.\n";
}

}  // namespace fp32shim::cli
