// Tells this process from the one that it was forked from. A process id cannot do that: process 1 of a container that
// clones itself with CLONE_NEWPID has a child with id 1, and the id of an ended ancestor may be reused.
#pragma once

#include <cstdint>

namespace fp32shim::system {

/// Returns a number that tells this process from its ancestors; never 0. Code stores the number beside a lock, a
/// count or a file, to see later which process the lock, count or file belongs to, because fork copies memory. A
/// child that shares its parent's memory (vfork) has its parent's number, so the parent's locks work for it too.
/// Costs one load; the first call in a process makes a system call or two. Thread-safe, async-signal-safe.
///
/// The number lies on a page that the kernel zeroes in a forked child (MADV_WIPEONFORK, Linux 4.14). On older kernels
/// the process id serves instead.
std::uint32_t fork_generation();

/// Returns true if the kernel can zero pages in a forked child. Otherwise a child that has the process id of its
/// parent is mistaken for the parent.
bool can_detect_forks();

/// Returns true if this process was forked and has not executed another program since.
bool is_forked_child();

}  // namespace fp32shim::system
