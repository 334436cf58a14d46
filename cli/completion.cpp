// fp32shim completion: scripts for completion in a shell, made from the options that are parsed.
#include <fmt/format.h>

#include <memory>
#include <string>
#include <vector>

#include "cli/application.hpp"
#include "cli/options.hpp"
#include "cli/output/terminal.hpp"

namespace fp32shim::cli {
namespace {

/// An option as a script offers it.
struct OfferedOption {
    std::vector<std::string> names;  ///< `--format`, `-q`
    std::string description;
    bool takes_value = false;
    std::vector<std::string> words;  ///< allowed values; empty: a file, or any
    bool takes_file = false;
};

/// A command as a script offers it.
struct OfferedCommand {
    std::string name, summary;
    std::vector<OfferedOption> options;
    bool takes_program = false;
    bool takes_files = false;
    std::vector<std::string> words;  ///< allowed values of the positional; empty: any
};

std::vector<std::string> words_of(const CLI::Option& option) {
    const std::string type = option.get_type_name();
    return type.find('|') == std::string::npos ? std::vector<std::string>() : CLI::detail::split(type, '|');
}

bool names_file(const CLI::Option& option) {
    const std::string type = option.get_type_name();
    return type == "FILE" || type == "NAME.fp32rec" || type == "RECORDING";
}

/// Returns the first part of a description, without characters that end a quotation in a shell.
std::string short_text(const std::string& description) {
    std::string text = description.substr(0, description.find_first_of(";("));
    for (char& c : text) {
        if (std::string_view("'\"`$\\[]:").find(c) != std::string_view::npos) c = ' ';
    }
    text.resize(text.find_last_not_of(' ') + 1);
    return text;
}

OfferedCommand offered(const Command& command, const CLI::App& app) {
    OfferedCommand result{.name = std::string(command.name),
                          .summary = short_text(std::string(command.summary)),
                          .options = {},
                          .takes_program = command.takes_program,
                          .takes_files = false,
                          .words = {}};
    for (const CLI::Option* option : app.get_options()) {
        if (option->get_positional()) {
            result.takes_files = names_file(*option);
            result.words = words_of(*option);
            continue;
        }
        OfferedOption offer;
        for (const std::string& name : option->get_lnames()) offer.names.push_back("--" + name);
        for (const std::string& name : option->get_snames()) offer.names.push_back("-" + name);
        offer.description = short_text(option->get_description());
        offer.takes_value = option->get_items_expected_max() > 0;
        if (offer.takes_value) offer.words = words_of(*option);
        offer.takes_file = names_file(*option);
        result.options.push_back(std::move(offer));
    }
    return result;
}

std::vector<OfferedCommand> offered_commands() {
    std::vector<OfferedCommand> result;
    for (const Command& command : commands()) result.push_back(offered(command, *define(command).app));
    return result;
}

std::string joined(const std::vector<std::string>& words, std::string_view separator) {
    return fmt::format("{}", fmt::join(words, separator));
}

std::string bash_command(const OfferedCommand& command) {
    std::string values, names, with_value;
    for (const OfferedOption& option : command.options) {
        (names += names.empty() ? "" : " ") += joined(option.names, " ");
        if (!option.takes_value) continue;
        const std::string pattern = joined(option.names, "|");
        (with_value += with_value.empty() ? "" : "|") += pattern;
        std::string offer = ":";
        if (!option.words.empty())
            offer = fmt::format("COMPREPLY=($(compgen -W '{}' -- \"$word\"))", joined(option.words, " "));
        else if (option.takes_file)
            offer = "COMPREPLY=($(compgen -f -- \"$word\"))";
        values += fmt::format("                {}) {}; return ;;\n", pattern, offer);
    }
    std::string text = fmt::format("        {})\n", command.name);
    if (command.takes_program) {
        // The first word that is neither an option nor its value starts a command line of its own.
        text += fmt::format(
            "            for ((i = 2; i < COMP_CWORD; ++i)); do\n"
            "                case ${{COMP_WORDS[i]}} in\n"
            "                    --) _fp32shim_program $((i + 1)); return ;;\n"
            "                    {}) ((++i)); [[ ${{COMP_WORDS[i]}} != = ]] || ((++i)) ;;\n"
            "                    -*) ;;\n"
            "                    *) _fp32shim_program \"$i\"; return ;;\n"
            "                esac\n"
            "            done\n",
            with_value.empty() ? "--" : with_value);
    }
    text += fmt::format("            case $previous in\n{}            esac\n", values);
    text += fmt::format(
        "            if [[ $word == -* ]]; then COMPREPLY=($(compgen -W '{}' -- \"$word\")); return; fi\n", names);
    if (command.takes_program) text += "            _fp32shim_program \"$COMP_CWORD\"\n";
    if (command.takes_files) text += "            COMPREPLY=($(compgen -f -- \"$word\"))\n";
    if (!command.words.empty()) {
        text += fmt::format("            COMPREPLY=($(compgen -W '{}' -- \"$word\"))\n", joined(command.words, " "));
    }
    return text + "            ;;\n";
}

std::string bash_script(const std::vector<OfferedCommand>& all) {
    std::vector<std::string> names;
    std::string cases;
    for (const OfferedCommand& command : all) {
        names.push_back(command.name);
        cases += bash_command(command);
    }
    return fmt::format(R"(# bash completion for fp32shim, written by `fp32shim completion bash`.
_fp32shim_program() {{
    if declare -F _command_offset >/dev/null; then
        _command_offset "$1"
    elif ((COMP_CWORD == $1)); then
        COMPREPLY=($(compgen -c -- "${{COMP_WORDS[COMP_CWORD]}}"))
    else
        COMPREPLY=($(compgen -f -- "${{COMP_WORDS[COMP_CWORD]}}"))
    fi
}}
_fp32shim() {{
    local word=${{COMP_WORDS[COMP_CWORD]}} previous=${{COMP_WORDS[COMP_CWORD - 1]}} i
    # Of --format=json, bash makes three words.
    if [[ $word == = ]]; then word=; elif [[ $previous == = ]]; then previous=${{COMP_WORDS[COMP_CWORD - 2]}}; fi
    COMPREPLY=()
    if ((COMP_CWORD == 1)); then
        COMPREPLY=($(compgen -W '{} --help --version -V' -- "$word"))
        return
    fi
    case ${{COMP_WORDS[1]}} in
{}    esac
}}
complete -o filenames -F _fp32shim fp32shim
)",
                       joined(names, " "), cases);
}

std::string zsh_command(const OfferedCommand& command) {
    std::string text = fmt::format("        {})\n            _arguments -S", command.name);
    for (const OfferedOption& option : command.options) {
        std::string value;
        if (!option.words.empty())
            value = fmt::format(":value:({})", joined(option.words, " "));
        else if (option.takes_file)
            value = ":file:_files";
        else if (option.takes_value)
            value = ":value:";
        for (const std::string& name : option.names) {
            text += fmt::format(" \\\n                '{}[{}]{}'", name, option.description, value);
        }
    }
    if (command.takes_program) text += " \\\n                '(-)1:program:_command_names -e' '*::arguments:_normal'";
    if (command.takes_files) text += " \\\n                '*:file:_files'";
    if (!command.words.empty())
        text += fmt::format(" \\\n                '1:value:({})'", joined(command.words, " "));
    return text + "\n            ;;\n";
}

std::string zsh_script(const std::vector<OfferedCommand>& all) {
    std::string described, cases;
    for (const OfferedCommand& command : all) {
        described += fmt::format("        '{}:{}'\n", command.name, command.summary);
        cases += zsh_command(command);
    }
    return fmt::format(R"(#compdef fp32shim
# zsh completion for fp32shim, written by `fp32shim completion zsh`.
_fp32shim() {{
    local -a commands=(
{}    )
    if ((CURRENT == 2)); then
        _describe command commands
        return
    fi
    local command=$words[2]
    shift words
    ((--CURRENT))
    case $command in
{}    esac
}}
if [[ $funcstack[1] == _fp32shim ]]; then
    _fp32shim "$@"
else
    compdef _fp32shim fp32shim
fi
)",
                       described, cases);
}

std::string fish_script(const std::vector<OfferedCommand>& all) {
    std::string text =
        "# fish completion for fp32shim, written by `fp32shim completion fish`.\ncomplete -c fp32shim -f\n";
    for (const OfferedCommand& command : all) {
        text += fmt::format("complete -c fp32shim -n __fish_use_subcommand -a {} -d '{}'\n", command.name,
                            command.summary);
    }
    for (const OfferedCommand& command : all) {
        const std::string condition = fmt::format("'__fish_seen_subcommand_from {}'", command.name);
        for (const OfferedOption& option : command.options) {
            text += fmt::format("complete -c fp32shim -n {}", condition);
            for (const std::string& name : option.names) {
                text += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
            }
            if (option.takes_value) text += " -r";
            if (!option.words.empty()) text += fmt::format(" -a '{}'", joined(option.words, " "));
            if (option.takes_file) text += " -F";
            text += fmt::format(" -d '{}'\n", option.description);
        }
        if (command.takes_program) {
            text +=
                fmt::format("complete -c fp32shim -n {} -a '(__fish_complete_subcommand --fcs-skip=2)'\n", condition);
        }
        if (command.takes_files) text += fmt::format("complete -c fp32shim -n {} -F\n", condition);
        if (!command.words.empty()) {
            text += fmt::format("complete -c fp32shim -n {} -a '{}'\n", condition, joined(command.words, " "));
        }
    }
    return text;
}

}  // namespace

Action define_completion(CLI::App& app) {
    auto shell = std::make_shared<std::string>();
    add_choice(app, "SHELL", *shell, {"bash", "zsh", "fish"}, "The shell to write for")->required();
    return [shell] {
        const std::vector<OfferedCommand> all = offered_commands();
        print(*shell == "bash" ? bash_script(all) : *shell == "zsh" ? zsh_script(all) : fish_script(all));
        return exit_code::ok;
    };
}

}  // namespace fp32shim::cli
