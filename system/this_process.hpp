// Tells this process from the one that it was forked from. A process id does not: process 1 of a container that
// clones itself with CLONE_NEWPID has a child of the id 1, and an ancestor's id may come back.
#pragma once

#include <cstdint>

namespace fp32shim::system {

/// A number that this process's memory has never held if an ancestor wrote it: what a lock, a count or a file in
/// memory copied by fork belongs to. Never 0. A child that shares the memory (vfork) has the number of its parent,
/// whose locks hold for it too. One load; a system call or two on the first call in a process. Thread-safe,
/// async-signal-safe.
///
/// It lies on a page that the kernel empties in a forked child (MADV_WIPEONFORK, Linux 4.14). Where there is none,
/// the number is the process id.
std::uint32_t this_process();

/// Whether the kernel has such pages: else a child with the process id of its parent is taken for it.
bool knows_forked_children();

/// Whether this process was forked since it executed its program.
bool is_forked_child();

}  // namespace fp32shim::system
