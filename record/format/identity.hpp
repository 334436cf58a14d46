// Identifies the process of a recording, so that a reader can tell if the process still runs.
#pragma once

#include <array>
#include <cstdint>

namespace fp32shim::record {

/// Identity of a process. Unlike a process id, an identity is never reused.
struct ProcessIdentity {
    std::int32_t pid = 0;                    ///< process id in the process's own namespace
    std::uint64_t start = 0;                 ///< start of the process, in clock ticks after boot; 0: unknown
    std::uint64_t pid_namespace = 0;         ///< inode of the process's PID namespace; 0: unknown
    std::array<std::uint8_t, 16> boot_id{};  ///< boot_id of the running kernel; zeros: unknown

    bool operator==(const ProcessIdentity&) const = default;
    /// Returns true if this process and `other` are known to have run on the same machine since the same boot.
    bool shares_boot_with(const ProcessIdentity& other) const;
};

/// Returns the identity of this process. Makes raw system calls, allocates nothing, and leaves errno alone.
ProcessIdentity identify_self();

/// The id, the parent and the start of a process. Id and start together are never reused.
struct ProcessStart {
    std::int32_t pid = 0;
    std::int32_t parent = 0;  ///< id of the parent process; 0: unknown
    std::uint64_t start = 0;  ///< start of the process, in clock ticks after boot; 0: the process has ended
};
/// Returns the facts that /proc has about process `pid`. Makes raw system calls, allocates nothing, and leaves errno
/// alone.
ProcessStart process_start_of(std::int32_t pid);

/// Returns the identity that /proc has for the process with the id `pid_here` in this process's PID namespace. The
/// identity's `start` is 0 if no process has the id, or if the process has ended and its parent has not yet waited
/// for it. Fields that this user may not read stay 0. Allocates memory.
ProcessIdentity identify_process(std::int32_t pid_here);

}  // namespace fp32shim::record
