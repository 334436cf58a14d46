// One sub-command of `fp32shim`: what a row of the table in commands.cpp holds. main.cpp parses, then runs its
// action.
#pragma once

#include <functional>
#include <string_view>

namespace CLI {  // NOLINT(readability-identifier-naming): CLI11's
class App;
}

namespace fp32shim::cli {

/// Exit codes of every command. `run` has three more, and else those of the program that it runs.
namespace exit_code {
inline constexpr int ok = 0;
inline constexpr int finding = 1;       ///< the command looked, and found something wrong
inline constexpr int usage = 2;         ///< wrong arguments, or something that they name is not there
inline constexpr int inconclusive = 3;  ///< the command looked, and cannot tell
inline constexpr int own_failure = 125;
inline constexpr int not_executable = 126;
inline constexpr int not_found = 127;
}  // namespace exit_code

/// What a command does once its options are parsed; returns an exit code.
using Action = std::function<int()>;

struct Command {
    std::string_view name;
    std::string_view summary;   ///< one line, for the list of commands
    std::string_view examples;  ///< lines for the end of --help
    /// Declares the command's options on its own CLI::App and returns what to do with their values. The returned
    /// action owns the storage that the options write to.
    Action (*define)(CLI::App& app);
    /// Whether a program and its arguments follow the options, with or without `--`. The command then declares a
    /// positional option `PROGRAM` of any number of words; what stands behind its first word is never ours.
    bool takes_program = false;
    /// What is returned for wrong arguments.
    int usage_failure = exit_code::usage;
};

}  // namespace fp32shim::cli
