// fp32shim completion: prints completion scripts for shells, made from the commands' own options.
#include <fmt/format.h>

#include <memory>
#include <string>
#include <vector>

#include "cli/command_line/application.hpp"
#include "cli/command_line/commands.hpp"
#include "cli/command_line/options.hpp"
#include "cli/output/terminal.hpp"
#include "policy/words.hpp"

namespace fp32shim::cli {
namespace {

/// A command with the options and arguments that completion scripts offer for it.
struct CompletableCommand : Command {
    std::unique_ptr<CLI::App> app;  ///< owns the options
    std::vector<const CLI::Option*> options;
    const CLI::Option* positional = nullptr;  ///< last positional option; null if there is none
    bool takes_processes = false;             ///< a positional option takes ids of processes that are being recorded
};

/// A shell command that prints the ids of the processes that are being recorded.
constexpr std::string_view list_processes = "fp32shim ps 2>/dev/null | sed -n 's/^ *\\([0-9][0-9]*\\) .*/\\1/p'";

/// Returns the names of an option with their dashes: `--format`, `-q`.
std::vector<std::string> names_of(const CLI::Option& option) {
    std::vector<std::string> names;
    for (const std::string& name : option.get_lnames()) names.push_back("--" + name);
    for (const std::string& name : option.get_snames()) names.push_back("-" + name);
    return names;
}

bool takes_value(const CLI::Option& option) { return option.get_items_expected_max() > 0; }

/// Returns the words that completion offers as values of `option`: those in its type, such as `table|json`, or the
/// words of --where. Returns none for all other options, and for null.
std::vector<std::string> words_of(const CLI::Option* option) {
    const std::string type = option == nullptr ? "" : option->get_type_name();
    if (type == "LIST" && option->check_lname("where")) {
        std::vector<std::string> sources;
        for (const auto& word : policy::where_words) sources.emplace_back(word.text);
        return sources;
    }
    return type.find('|') == std::string::npos ? std::vector<std::string>() : CLI::detail::split(type, '|');
}

bool takes_file(const CLI::Option* option) { return option != nullptr && option->get_type_name() == "FILE"; }

bool takes_recordings(const CLI::Option* option) { return option != nullptr && option->get_name() == "RECORDING"; }

/// Returns a description up to its first `;` or `(`. Characters that a shell may interpret become blanks.
std::string short_text(std::string_view description) {
    std::string text(description.substr(0, description.find_first_of(";(")));
    for (char& c : text)
        if (std::string_view("'\"`$\\[]:").find(c) != std::string_view::npos) c = ' ';
    text.resize(text.find_last_not_of(' ') + 1);
    return text;
}

CompletableCommand completable_command(const Command& command) {
    CompletableCommand result{command, make_command_parser(command).app, {}};
    for (const CLI::Option* option : result.app->get_options()) {
        if (option->get_group().empty()) continue;  // a hidden option only tells users which option replaces it
        if (!option->get_positional()) {
            result.options.push_back(option);
            continue;
        }
        result.positional = option;
        result.takes_processes |= option->get_name() == "PID";
    }
    return result;
}

std::string joined(const std::vector<std::string>& words, std::string_view separator) {
    return fmt::format("{}", fmt::join(words, separator));
}

std::string bash_command(const CompletableCommand& command) {
    std::string values, names, with_value;
    for (const CLI::Option* option : command.options) {
        (names += names.empty() ? "" : " ") += joined(names_of(*option), " ");
        if (!takes_value(*option)) continue;
        const std::string pattern = joined(names_of(*option), "|");
        (with_value += with_value.empty() ? "" : "|") += pattern;
        std::string offer = ":";
        if (const auto words = words_of(option); !words.empty())
            offer = fmt::format("_fp32shim_offer -W '{}' -- \"$word\"", joined(words, " "));
        else if (takes_file(option))
            offer = "_fp32shim_offer -f -- \"$word\"";
        values += fmt::format("                {}) {}; return ;;\n", pattern, offer);
    }
    std::string text = fmt::format("        {})\n", command.name);
    if (command.takes_program) {
        // In the script, the first word that is neither an option nor an option's value begins the program's command
        // line.
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
    text += fmt::format("            if [[ $word == -* ]]; then _fp32shim_offer -W '{}' -- \"$word\"; return; fi\n",
                        names);
    if (command.takes_program) text += "            _fp32shim_program \"$COMP_CWORD\"\n";
    if (takes_recordings(command.positional))
        text += "            _fp32shim_offer -f -X '!*.fp32rec' -- \"$word\"; _fp32shim_offer -d -- \"$word\"\n";
    else if (takes_file(command.positional))
        text += "            _fp32shim_offer -f -- \"$word\"\n";
    if (const auto words = words_of(command.positional); !words.empty())
        text += fmt::format("            _fp32shim_offer -W '{}' -- \"$word\"\n", joined(words, " "));
    if (command.takes_processes)
        text += fmt::format("            _fp32shim_offer -W \"$({})\" -- \"$word\"\n", list_processes);
    return text + "            ;;\n";
}

std::string bash_script(const std::vector<CompletableCommand>& all) {
    std::vector<std::string> names;
    std::string cases;
    for (const CompletableCommand& command : all) {
        names.emplace_back(command.name);
        cases += bash_command(command);
    }
    return fmt::format(R"(# bash completion for fp32shim, written by `fp32shim completion bash`.
# Offers each line of compgen's output. Names may have blanks and characters of patterns.
_fp32shim_offer() {{
    mapfile -t -O ${{#COMPREPLY[@]}} COMPREPLY < <(compgen "$@")
}}
_fp32shim_program() {{
    if declare -F _command_offset >/dev/null; then
        _command_offset "$1"
    elif ((COMP_CWORD == $1)); then
        _fp32shim_offer -c -- "${{COMP_WORDS[COMP_CWORD]}}"
    else
        _fp32shim_offer -f -- "${{COMP_WORDS[COMP_CWORD]}}"
    fi
}}
_fp32shim() {{
    local word=${{COMP_WORDS[COMP_CWORD]}} previous=${{COMP_WORDS[COMP_CWORD - 1]}} i
    # Bash splits --format=json into three words.
    if [[ $word == = ]]; then word=; elif [[ $previous == = ]]; then previous=${{COMP_WORDS[COMP_CWORD - 2]}}; fi
    COMPREPLY=()
    if ((COMP_CWORD == 1)); then
        _fp32shim_offer -W '{} --help --version -V' -- "$word"
        return
    fi
    case ${{COMP_WORDS[1]}} in
{}    esac
}}
complete -o filenames -F _fp32shim fp32shim
)",
                       joined(names, " "), cases);
}

std::string zsh_command(const CompletableCommand& command) {
    std::string text = fmt::format("        {})\n            _arguments -S", command.name);
    for (const CLI::Option* option : command.options) {
        std::string value;
        if (const auto words = words_of(option); !words.empty())
            value = fmt::format(":value:({})", joined(words, " "));
        else if (takes_file(option))
            value = ":file:_files";
        else if (takes_value(*option))
            value = ":value:";
        for (const std::string& name : names_of(*option))
            text +=
                fmt::format(" \\\n                '{}[{}]{}'", name, short_text(option->get_description()), value);
    }
    if (command.takes_program) text += " \\\n                '(-)1:program:_command_names -e' '*::arguments:_normal'";
    if (takes_recordings(command.positional))
        text += " \\\n                '*:recording:_files -g \"*.fp32rec\"'";
    else if (takes_file(command.positional))
        text += " \\\n                '*:file:_files'";
    if (command.takes_processes) text += fmt::format(" \\\n                \"*:process:($({}))\"", list_processes);
    if (const auto words = words_of(command.positional); !words.empty())
        text += fmt::format(" \\\n                '1:value:({})'", joined(words, " "));
    return text + "\n            ;;\n";
}

std::string zsh_script(const std::vector<CompletableCommand>& all) {
    std::string described, cases;
    for (const CompletableCommand& command : all) {
        described += fmt::format("        '{}:{}'\n", command.name, short_text(command.summary));
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

std::string fish_script(const std::vector<CompletableCommand>& all) {
    std::string text =
        "# fish completion for fp32shim, written by `fp32shim completion fish`.\ncomplete -c fp32shim -f\n";
    for (const CompletableCommand& command : all)
        text += fmt::format("complete -c fp32shim -n __fish_use_subcommand -a {} -d '{}'\n", command.name,
                            short_text(command.summary));
    for (const CompletableCommand& command : all) {
        const std::string condition = fmt::format("'__fish_seen_subcommand_from {}'", command.name);
        for (const CLI::Option* option : command.options) {
            text += fmt::format("complete -c fp32shim -n {}", condition);
            for (const std::string& name : names_of(*option))
                text += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
            if (takes_value(*option)) text += " -r";
            if (const auto words = words_of(option); !words.empty())
                text += fmt::format(" -a '{}'", joined(words, " "));
            if (takes_file(option)) text += " -F";
            text += fmt::format(" -d '{}'\n", short_text(option->get_description()));
        }
        if (command.takes_program)
            text +=
                fmt::format("complete -c fp32shim -n {} -a '(__fish_complete_subcommand --fcs-skip=2)'\n", condition);
        if (takes_recordings(command.positional))
            text += fmt::format("complete -c fp32shim -n {} -k -a '(__fish_complete_suffix .fp32rec)'\n", condition);
        else if (takes_file(command.positional))
            text += fmt::format("complete -c fp32shim -n {} -F\n", condition);
        if (command.takes_processes)
            text += fmt::format("complete -c fp32shim -n {} -a \"({})\"\n", condition, list_processes);
        if (const auto words = words_of(command.positional); !words.empty())
            text += fmt::format("complete -c fp32shim -n {} -a '{}'\n", condition, joined(words, " "));
    }
    return text;
}

}  // namespace

Action define_completion(CLI::App& app) {
    auto shell = std::make_shared<std::string>();
    add_choice(app, "SHELL", *shell, {"bash", "zsh", "fish"}, "The shell to write for")->required();
    return [shell] {
        std::vector<CompletableCommand> all;
        for (const Command& command : commands()) all.push_back(completable_command(command));
        print(*shell == "bash" ? bash_script(all) : *shell == "zsh" ? zsh_script(all) : fish_script(all));
        return exit_code::ok;
    };
}

}  // namespace fp32shim::cli
