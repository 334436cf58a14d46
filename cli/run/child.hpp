// Starts the program of `fp32shim run`, as a shell would.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace fp32shim::cli {

/// Outcome of a program: the error at its start, its exit status or its signal.
struct Ended {
    int exec_error = 0;   ///< errno of a failed execve; 0: the program was started
    int exit_status = 0;  ///< valid if no signal ended the program
    int signal = 0;       ///< signal that ended the program; 0: none
};

/// Replaces this process by the program. Returns errno if that fails. `environment` has entries `NAME=value`.
int replace_by_program(const std::string& path, const std::vector<std::string>& words,
                       const std::vector<std::string>& environment);

/// Destination of the program's stdout.
enum class Output : std::uint8_t { to_stdout, to_stderr };

/// Runs the program to its end, in this process's group, with its descriptors and signal mask. Signals that a process
/// sends to this one are passed on; those of the terminal reach the program anyway. When the terminal stops the
/// program, this process stops too, so that the shell's job control sees one job.
Ended run_program(const std::string& path, const std::vector<std::string>& words,
                  const std::vector<std::string>& environment, Output output = Output::to_stdout);

/// Returns the predicate of a sentence: `was killed by signal 11`, `ended with status 1`.
std::string ended_text(const Ended& ended);

/// Ends this process by `signal`, without a core file, so that its parent sees how the program ended.
[[noreturn]] void end_by_signal(int signal);

}  // namespace fp32shim::cli
