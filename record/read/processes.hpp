// Which processes there are, for those who look for live recordings.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace fp32shim::record {

/// The ids in /proc, rising.
std::vector<std::int32_t> list_processes();

/// The arguments of a process, joined by blanks, and the path of its executable; empty where it has ended, or this
/// user may not know. Of arguments no more than 64 KiB.
std::string command_of(std::int32_t pid);
std::string executable_of(std::int32_t pid);

}  // namespace fp32shim::record
