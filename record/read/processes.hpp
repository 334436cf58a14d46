// Processes of this machine, for finding live recordings.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace fp32shim::record {

/// Returns the process ids in /proc, in rising order.
std::vector<std::int32_t> list_process_ids();

/// Returns the arguments of a process, joined by blanks, at most 64 KiB; empty: the process has ended, or the
/// arguments are not readable.
std::string command_line_of(std::int32_t pid);
/// Returns the path of a process's executable; empty: the process has ended, or the path is not readable.
std::string executable_of(std::int32_t pid);

/// A process of a run that still runs.
struct RemainingProcess {
    std::int32_t pid = 0;
    bool is_certain =
        true;  ///< false: the process has overwritten its environment, so it may be of another run, or of none
};
/// Returns the processes that `fp32shim run` number `run` started and that still run, without this process and those
/// from which it descends. Looks only at processes of this user (root: of all) that began at `began`
/// (ProcessIdentity::start) or later: the kernel lets nobody read the environment of a process that hangs in some
/// system calls. Waits up to an eighth of a second for the last ones to end, because helpers of Python outlive their
/// program for some milliseconds. Includes processes that have the shim and have overwritten their environment.
/// Misses processes whose environment this user may not read.
std::vector<RemainingProcess> remaining_processes_of_run(std::uint64_t run, std::uint64_t began);

}  // namespace fp32shim::record
