// The bytes of a policy file, if it is one that a program may be made to read in the middle of its work.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>

namespace fp32shim::policy {

struct PolicyFile {
    enum class State : std::uint8_t {
        read,
        absent,      ///< there is no file of that name
        unreadable,  ///< there is, and it is none that can be read
        refused,     ///< it does not belong to whom it must belong to
    };
    State state = State::unreadable;
    std::string bytes;    ///< one more than a policy may have, where it has more
    std::string problem;  ///< what is wrong, and what to do; empty where it was read
};

/// Reads the file at `path`. Nothing but a regular file is ever opened: a pipe or a terminal would wait for somebody,
/// a device may act on being opened. Files of /proc, /sys and the like are refused too, which may wait as well.
/// `owner`: whom the file must belong to, so that nobody else can write it; absent: anybody.
PolicyFile read_policy_bytes(const std::string& path, std::optional<uid_t> owner);

}  // namespace fp32shim::policy
