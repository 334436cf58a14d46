// Table of all sub-commands, in the order of `fp32shim --help`. main.cpp parses a command's options, then runs its
// action.
#pragma once

#include <functional>
#include <span>
#include <string_view>

namespace CLI {  // NOLINT(readability-identifier-naming): CLI11's
class App;
}

namespace fp32shim::cli {

/// Exit codes. Only `run` and `bisect` return the last three; once its program has started, `run` ends as that does.
namespace exit_code {
inline constexpr int ok = 0;
inline constexpr int finding = 1;       ///< the command found a problem
inline constexpr int usage = 2;         ///< arguments are wrong, or name something that does not exist
inline constexpr int inconclusive = 3;  ///< the command cannot decide
inline constexpr int no_product = 4;    ///< bisect: the program has no product that is seen
inline constexpr int was_killed = 5;    ///< bisect: the program was killed by a signal, with everything exact
inline constexpr int own_failure = 125;
inline constexpr int not_executable = 126;
inline constexpr int not_found = 127;
}  // namespace exit_code

/// Runs a command whose options are parsed, and returns an exit code.
using Action = std::function<int()>;

/// A sub-command: its name, help texts and options.
struct Command {
    std::string_view name;
    std::string_view summary;   ///< one line, for the list of commands
    std::string_view examples;  ///< lines for the end of --help
    /// Declares the command's options on its own CLI::App and returns what to do with their values. The returned
    /// action owns the storage that the options write to.
    Action (*define)(CLI::App& app);
    /// True if a program and its arguments follow the options, with or without `--`. The command then declares a
    /// positional option `PROGRAM` of any number of words. All words after its first belong to the program.
    bool takes_program = false;
    /// Exit code for wrong arguments.
    int usage_failure = exit_code::usage;
};

std::span<const Command> commands();

// Each is defined in the file or folder of its name, except ps (top) and set and reload (set_and_reload.cpp).
Action define_run(CLI::App& app);
Action define_doctor(CLI::App& app);
Action define_explain(CLI::App& app);
Action define_verify(CLI::App& app);
Action define_bisect(CLI::App& app);
Action define_suggest(CLI::App& app);
Action define_diff(CLI::App& app);
Action define_check(CLI::App& app);
Action define_report(CLI::App& app);
Action define_replay(CLI::App& app);
Action define_log(CLI::App& app);
Action define_top(CLI::App& app);
Action define_ps(CLI::App& app);
Action define_set(CLI::App& app);
Action define_reload(CLI::App& app);
Action define_gpu_check(CLI::App& app);
Action define_completion(CLI::App& app);

}  // namespace fp32shim::cli
