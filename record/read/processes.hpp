// Processes of this machine, for finding live recordings.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace fp32shim::record {

/// Returns the process ids in /proc, in rising order.
std::vector<std::int32_t> list_processes();

/// Returns the arguments of a process, joined by blanks, at most 64 KiB; empty: the process has ended, or the
/// arguments are not readable.
std::string command_of(std::int32_t pid);
/// Returns the path of a process's executable; empty: the process has ended, or the path is not readable.
std::string executable_of(std::int32_t pid);

}  // namespace fp32shim::record
