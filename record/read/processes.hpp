// Functions that list and describe the processes of this machine.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace fp32shim::record {

/// Returns the process ids in /proc, in rising order.
std::vector<std::int32_t> list_process_ids();

/// Returns the arguments of a process, joined by blanks and cut to 64 KiB. Returns an empty text if the process has
/// ended or the arguments are not readable.
std::string command_line_of(std::int32_t pid);
/// Returns the path of a process's executable, or an empty text if the process has ended or the path is not readable.
std::string executable_of(std::int32_t pid);

/// A process that a `fp32shim run` started and that is still running.
struct RemainingProcess {
    std::int32_t pid = 0;
    bool is_certain = true;  ///< false: the process has overwritten its environment, so it may also belong to another
                             ///< run or to no run
};
/// Returns the processes of the `fp32shim run` with the number `run` that are still running, except this process and
/// its ancestors. Only processes that began at `began` (in the unit of ProcessIdentity::start) or later are examined,
/// because an older process may hang in a system call during which nobody can read its environment. Only root
/// examines processes of other users. The function waits up to an eighth of a second for the last processes to end,
/// because helper processes of Python end some milliseconds after their program. The result includes processes that
/// have loaded the shim but overwritten their environment. It lacks processes whose environment this user may not
/// read.
std::vector<RemainingProcess> remaining_processes_of_run(std::uint64_t run, std::uint64_t began);

}  // namespace fp32shim::record
