// Child processes that cannot hold up their parent: each has a moment at which it is killed, and a child that even
// then does not end, stuck in a driver, is left behind.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace gpu {

using Clock = std::chrono::steady_clock;
using Environment = std::map<std::string, std::string>;

/// This process's environment without what a caller's shell says about precision, so that it cannot govern what is
/// compared here. The names left out are added to `left_out`.
Environment neutral_environment(std::vector<std::string>& left_out);
Environment own_environment();
/// Returns the folder of this program.
std::string own_folder();

struct Ended {
    int status = 0;          ///< as waitpid() returns it; of no meaning if `timed_out`
    bool timed_out = false;  ///< killed because its time was over
    std::string errors;      ///< the last kilobytes that it wrote to stderr

    bool succeeded() const { return !timed_out && status == 0; }
    /// Returns true if it did not end by itself, or SIGALRM ended it.
    bool hung() const;
    /// Returns the exit status; -1 if it was killed.
    int exit_status() const;
};

/// Runs a program until it ends, at most until `until`; its children too are killed then. take: gets each line of its
/// stdout. Throws std::runtime_error if no process can be started.
Ended run_process(const std::vector<std::string>& words, const Environment& environment, Clock::time_point until,
                  const std::function<void(const std::string&)>& handle_line);

/// Returns the last line that is not empty.
std::string last_line(const std::string& text);

/// Returns why a process did not succeed: `status 3`, `signal 11`, `no answer in 20 s`.
std::string how_it_ended(const Ended& ended, Clock::duration limit);

}  // namespace gpu
