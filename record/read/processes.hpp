// Processes of this machine, for the search for live recordings.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace fp32shim::record {

/// Returns the process ids in /proc, rising.
std::vector<std::int32_t> list_processes();

/// Returns the arguments of a process, joined by blanks, at most 64 KiB; empty if it has ended or they are not
/// readable.
std::string command_of(std::int32_t pid);
/// Returns the path of a process's executable; empty if it has ended or the path is not readable.
std::string executable_of(std::int32_t pid);

}  // namespace fp32shim::record
