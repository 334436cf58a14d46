// Options of all commands, declared with CLI11. Parsing, --help and completion files use them.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "cli/command_line/commands.hpp"

namespace fp32shim::cli {

/// Parser and action of one command. Each has a CLI::App of its own, so that errors and help are about it alone.
struct DefinedCommand {
    std::unique_ptr<CLI::App> app;
    Action action;
};
DefinedCommand defined(const Command& command);

/// Returns the text of `fp32shim --help`.
std::string general_help();

}  // namespace fp32shim::cli
