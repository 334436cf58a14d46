// The options of all commands, as CLI11 knows them: what is parsed, what --help prints, what completion files offer.
#pragma once

#include <CLI/CLI.hpp>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "cli/command.hpp"

namespace fp32shim::cli {

/// Every command has a CLI::App of its own rather than being a sub-command of one: its errors and its help are then
/// about it alone.
class Application {
  public:
    Application();

    CLI::App* app_of(const Command& command) const { return defined_.at(command.name).app.get(); }
    const Action& action_of(const Command& command) const { return defined_.at(command.name).action; }

    /// `fp32shim --help`: the commands, in the order of their table.
    static std::string help();

  private:
    struct Defined {
        std::unique_ptr<CLI::App> app;
        Action action;
    };
    std::map<std::string_view, Defined> defined_;
};

}  // namespace fp32shim::cli
