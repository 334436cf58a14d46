// Runs child processes that cannot block their parent. Each child has a time limit, and is killed when the time is
// over. If a killed child is stuck in a driver and does not end, the parent goes on without it.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace gpu {

using Clock = std::chrono::steady_clock;
using Environment = std::map<std::string, std::string>;

/// Returns this process's environment without variables that set precision, so that the caller's shell does not
/// influence the measurements. Adds the names of removed variables to `left_out`.
Environment neutral_environment(std::vector<std::string>& left_out);
Environment own_environment();
/// Returns the folder that contains this program.
std::string program_folder();

/// The way in which a process ended.
struct ProcessOutcome {
    int status = 0;          ///< status from waitpid(); meaningless if `timed_out` is true
    bool timed_out = false;  ///< true if the process was killed because its time was over
    std::string errors;      ///< the last kilobytes that the process wrote to stderr

    bool has_succeeded() const { return !timed_out && status == 0; }
    /// Returns true if the process ran out of time, or SIGALRM ended it.
    bool has_hung() const;
    /// Returns the exit status; -1 if the process was killed.
    int exit_status() const;
};

/// Runs a program until it ends, or kills it at the time `until`. In both cases, kills the processes that the program
/// started. `handle_line` receives each line of the program's stdout. Throws std::runtime_error if no process can be
/// started.
ProcessOutcome run_process(const std::vector<std::string>& words, const Environment& environment,
                           Clock::time_point until, const std::function<void(const std::string&)>& handle_line);

/// Returns the last line of `text` that is not empty.
std::string last_line(const std::string& text);

/// Describes the failure of a process, such as `status 3`, `signal 11` or `no answer in 20 s`. `limit` is the time in
/// which the process had to answer.
std::string describe_failure(const ProcessOutcome& ended, Clock::duration limit);

}  // namespace gpu
