// Options of all commands, declared with CLI11. Parsing, --help and completion files use them.
#pragma once

#include <CLI/CLI.hpp>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "cli/command.hpp"

namespace fp32shim::cli {

/// Holds a CLI::App for every command. They are not sub-commands of one app, so that errors and help are about one
/// command alone.
class Application {
  public:
    Application();

    CLI::App* app_of(const Command& command) const { return defined_.at(command.name).app.get(); }
    const Action& action_of(const Command& command) const { return defined_.at(command.name).action; }

    /// Returns the text of `fp32shim --help`.
    static std::string help();

  private:
    struct Defined {
        std::unique_ptr<CLI::App> app;
        Action action;
    };
    std::map<std::string_view, Defined> defined_;
};

}  // namespace fp32shim::cli
