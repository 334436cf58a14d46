// Which process a recording belongs to, so that a reader can tell whether it still runs.
#pragma once

#include <cstdint>

namespace fp32shim::record {

/// Unlike a process id, this is never used again.
struct ProcessIdentity {
    std::int32_t pid = 0;             ///< as the process sees itself
    std::uint64_t start = 0;          ///< clock ticks after boot; 0: unknown
    std::uint64_t pid_namespace = 0;  ///< inode; 0: unknown
    std::uint8_t boot_id[16] = {};    ///< of the running kernel; zeros: unknown

    bool operator==(const ProcessIdentity&) const = default;
    /// Whether both are of one kernel that was not restarted in between. False where that is unknown.
    bool has_boot_of(const ProcessIdentity& other) const;
};

/// This process. By raw system calls; allocates nothing, leaves errno alone.
ProcessIdentity identify_self();

/// The process that has this id here, /proc/PID; `start` is 0 where there is none, or it has ended and is not yet
/// waited for. What this user may not know stays 0. Allocates.
ProcessIdentity identify(std::int32_t pid_here);

}  // namespace fp32shim::record
