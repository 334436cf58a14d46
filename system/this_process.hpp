// Tells this process from the one that it was forked from. A process id does not: process 1 of a container that
// clones itself with CLONE_NEWPID has a child of the id 1, and an ancestor's id may come back.
#pragma once

#include <cstdint>

namespace fp32shim::system {

/// Returns a number that tells this process from its ancestors: in memory copied by fork, it says which process a
/// lock, a count or a file belongs to. Never 0. A child that shares its parent's memory (vfork) has its parent's
/// number, and the parent's locks hold for it too. Costs one load; the first call in a process, a system call or two.
/// Thread-safe, async-signal-safe.
///
/// The number lies on a page that the kernel empties in a forked child (MADV_WIPEONFORK, Linux 4.14). Without such
/// pages it is the process id.
std::uint32_t this_process();

/// Returns true if the kernel has pages that it empties in a forked child. Otherwise a child with the process id of
/// its parent is taken for the parent.
bool can_detect_forks();

/// Returns true if this process was forked since it executed its program.
bool is_forked_child();

}  // namespace fp32shim::system
