// Identifies the process of a recording, so that a reader can tell if it still runs.
#pragma once

#include <cstdint>

namespace fp32shim::record {

/// Identity of a process. Unlike a process id, it is never used again.
struct ProcessIdentity {
    std::int32_t pid = 0;             ///< process id in its own namespace
    std::uint64_t start = 0;          ///< clock ticks after boot; 0: unknown
    std::uint64_t pid_namespace = 0;  ///< inode; 0: unknown
    std::uint8_t boot_id[16] = {};    ///< boot_id of the running kernel; zeros: unknown

    bool operator==(const ProcessIdentity&) const = default;
    /// Returns true if both processes ran under one boot of one kernel. False if that is unknown.
    bool has_boot_of(const ProcessIdentity& other) const;
};

/// Returns the identity of this process. Raw system calls; allocates nothing, leaves errno alone.
ProcessIdentity identify_self();

/// Returns the identity of /proc/PID. `start` is 0 if there is no such process, or it has ended and is not yet waited
/// for. Fields that this user may not read stay 0. Allocates.
ProcessIdentity identify(std::int32_t pid_here);

}  // namespace fp32shim::record
