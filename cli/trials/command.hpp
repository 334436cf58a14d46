// What `bisect` and `sensitivity` say and do about the command that they run again and again.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/product_groups/groups.hpp"
#include "cli/trials/runs.hpp"
#include "cli/trials/state.hpp"

namespace fp32shim::cli {

/// Returns what is wrong with the library or the settings of the environment; empty if nothing is. `name` is the name
/// of our command, for messages.
std::string problem_with_settings(std::string_view name);

/// Returns why `path`, the value of `option`, cannot become a new file; empty if it can, or if the path is empty.
std::string problem_with_new_file(std::string_view option, const std::string& path);

/// Returns true if neither `option`, the value of --cpu, nor the environment says what lower precisions do on a CPU.
bool is_cpu_mode_open(const std::string& option);

/// Mode of the CPU in which a program is tried that multiplies on a CPU only, if no mode was chosen.
constexpr std::string_view preview_mode = "emulate";

/// Tells the user that preview_mode was chosen, and why. `name` is the name of our command.
void say_preview(std::string_view name);

/// Tells the user that an input which holds something is not read: a regular file, or a pipe. `name` as above.
void say_unread_input(std::string_view name);

/// Returns why nothing is known about a run: its files were removed, or a process did not apply the policy. Empty if
/// there is no such reason.
std::string unknown_run_text(const FinishedRun& run);

/// Returns the file of the program that the first word names; empty if a runner looks for it. Throws End if it cannot
/// start.
std::string find_trial_program(std::string_view name, const std::vector<std::string>& words,
                               const std::string& runner);

/// Returns the last lines of a run's output, indented, each with a line feed.
std::string last_lines_of(const std::string& output);

/// Returns the end of a search without products of the tried types.
End no_product_seen(const RecordedProducts& products, TriedTypes types);

/// Returns the end of a search in which nothing ran below FP32, with the most frequent reason.
End nothing_lowered(const RecordedProducts& products, std::string_view precision);

/// A file that was written.
struct NewFile {
    std::string path;
    int error;  ///< 0 or an errno
};

/// Writes a new file: `path`, or if that is empty, the first unused name of `NAME.SUFFIX`, `NAME.1.SUFFIX` and so on.
NewFile write_new_file(const std::string& path, std::string_view name, std::string_view suffix,
                       const std::string& text);

}  // namespace fp32shim::cli
