// Starts the program of `fp32shim run` in the way a shell would.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace fp32shim::cli {

/// The way in which a program ended. Either it could not be started, or it has an exit status, or a signal ended it.
struct ProgramEnd {
    int exec_error = 0;   ///< errno of a failed execve; 0 if the program was started
    int exit_status = 0;  ///< valid if no signal ended the program
    int signal = 0;       ///< signal that ended the program; 0 if none did
};

/// Returns the way in which a program ended whose status waitpid() has returned.
ProgramEnd program_end_of(int status);

/// Returns the texts as the null-terminated array that exec and posix_spawn take. They must outlive the array.
std::vector<char*> pointers_to(const std::vector<std::string>& texts);

/// Replaces this process by the program. Returns errno if execve fails. `environment` has entries `NAME=value`.
int replace_by_program(const std::string& path, const std::vector<std::string>& words,
                       const std::vector<std::string>& environment);

/// Destination of the program's stdout.
enum class Output : std::uint8_t { to_stdout, to_stderr };

/// Runs the program to its end, in this process's group, with this process's descriptors and signal mask. Signals
/// that another process sends to this process are passed on. Signals of the terminal reach the program directly. If
/// the terminal stops the program, this process stops too, so that the shell's job control sees one job.
ProgramEnd run_program(const std::string& path, const std::vector<std::string>& words,
                       const std::vector<std::string>& environment, Output output = Output::to_stdout);

/// Returns the end of a sentence, such as `was killed by signal 11` or `ended with status 1`.
std::string program_end_text(const ProgramEnd& ended);

/// Ends this process by `signal`, without a core file, so that its parent sees how the program ended.
[[noreturn]] void end_self_by_signal(int signal);

}  // namespace fp32shim::cli
