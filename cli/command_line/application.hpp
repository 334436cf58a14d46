// Declares the options of all commands with CLI11, for parsing, --help and completion files.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "cli/command_line/commands.hpp"

namespace fp32shim::cli {

/// The parser of a command's options, and the command's action. Each command has its own CLI::App, so that errors and
/// help mention only this command.
struct CommandParser {
    std::unique_ptr<CLI::App> app;
    Action action;
};
CommandParser make_command_parser(const Command& command);

/// Returns the text of `fp32shim --help`.
std::string general_help_text();

}  // namespace fp32shim::cli
