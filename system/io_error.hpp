// Describes an error of a log, recording or policy: the meaning of its errno, and a remedy.
#pragma once

#include <string_view>

namespace fp32shim::system {

struct IoError {
    std::string_view meaning;  ///< the meaning, such as `no space left on device (ENOSPC)`
    std::string_view remedy;   ///< the remedy, such as `free some space`; it begins with a verb
};

/// The shim's own error number, which is larger than every errno: the file belongs to another user, who is not root.
inline constexpr int foreign_file = 0x10000;

/// Describes a positive errno, or foreign_file. Unlike strerror, this function gives the same words in every locale,
/// is thread-safe and allocates nothing.
IoError describe_io_error(int error);

}  // namespace fp32shim::system
