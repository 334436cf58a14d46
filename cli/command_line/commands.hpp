// The table of all sub-commands, in the order of `fp32shim --help`. main.cpp parses the options of a command and then
// runs its action.
#pragma once

#include <functional>
#include <span>
#include <string_view>

namespace CLI {  // NOLINT(readability-identifier-naming): the name is CLI11's
class App;
}

namespace fp32shim::cli {

/// The exit codes of the commands. Only `run`, `bisect` and `sensitivity` return `own_failure`, `not_executable` and
/// `not_found`. Once `run` has started its program, it returns the program's own exit code.
namespace exit_code {
inline constexpr int ok = 0;
inline constexpr int finding = 1;       ///< the command found a problem
inline constexpr int usage = 2;         ///< arguments are invalid, or name something that does not exist
inline constexpr int inconclusive = 3;  ///< the command cannot decide the question
/// The shim saw no matrix product of the program (bisect and sensitivity).
inline constexpr int no_product = 4;
/// A signal killed the program although all of its products were exact (bisect and sensitivity).
inline constexpr int was_killed = 5;
inline constexpr int own_failure = 125;
inline constexpr int not_executable = 126;
inline constexpr int not_found = 127;
}  // namespace exit_code

/// Prints what is wrong with a command's arguments. Returns exit_code::usage.
int usage_error(std::string_view command, std::string_view problem);

/// Runs a command after its options were parsed. Returns an exit code.
using Action = std::function<int()>;

/// A sub-command: its name, help texts and options.
struct Command {
    std::string_view name;
    std::string_view summary;   ///< one line, for the list of commands
    std::string_view examples;  ///< lines at the end of --help
    /// Declares the command's options on its own CLI::App and returns its action. The action owns the variables to
    /// which the options are written.
    Action (*define)(CLI::App& app);
    /// True if a program and its arguments follow the options, with or without `--`. The command then declares a
    /// positional option `PROGRAM` that takes any number of words. All words after the first belong to the program.
    bool takes_program = false;
    /// The exit code that the command returns for wrong arguments.
    int usage_failure = exit_code::usage;
};

std::span<const Command> commands();

// Each function declares the options of one command. It is defined in the file or folder that is named after the
// command, except that `ps` is in top/, and `set` and `reload` are in set_and_reload.cpp.
Action define_run(CLI::App& app);
Action define_doctor(CLI::App& app);
Action define_explain(CLI::App& app);
Action define_verify(CLI::App& app);
Action define_bisect(CLI::App& app);
Action define_sensitivity(CLI::App& app);
Action define_suggest(CLI::App& app);
Action define_diff(CLI::App& app);
Action define_check(CLI::App& app);
Action define_report(CLI::App& app);
Action define_log(CLI::App& app);
Action define_top(CLI::App& app);
Action define_ps(CLI::App& app);
Action define_set(CLI::App& app);
Action define_reload(CLI::App& app);
Action define_kernel(CLI::App& app);
Action define_gpu_check(CLI::App& app);
Action define_completion(CLI::App& app);

}  // namespace fp32shim::cli
