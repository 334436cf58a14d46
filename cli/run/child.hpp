// The program that `fp32shim run` runs: as if the shell had started it, but that somebody looks on.
#pragma once

#include <string>
#include <vector>

namespace fp32shim::cli {

/// How a program ended.
struct Ended {
    int exec_error = 0;   ///< errno of the execve that failed; 0: it was started
    int exit_status = 0;  ///< of a program that was not killed
    int signal = 0;       ///< what killed it; 0: nothing did
};

/// Replaces this process by the program; returns only where that fails, with errno. `environment` has entries
/// `NAME=value`.
int replace_by_program(const std::string& path, const std::vector<std::string>& words,
                       const std::vector<std::string>& environment);

/// Runs the program to its end, in our process group, with our descriptors and signal mask. Signals that were sent to
/// this process are sent on to it; those of the terminal have reached it already. When the terminal or its own
/// reading from it stops the program, this process stops as well, so that the shell's job control sees one job.
Ended run_program(const std::string& path, const std::vector<std::string>& words,
                  const std::vector<std::string>& environment);

/// Ends this process by that signal, without a core file: what waits for us sees what ended the program.
[[noreturn]] void end_by_signal(int signal);

}  // namespace fp32shim::cli
