// What an errno of a log or recording means to its operator, and what to do about it.
#pragma once

#include <string_view>

namespace fp32shim::system {

struct IoError {
    std::string_view meaning;  ///< `no space left on device (ENOSPC)`
    std::string_view remedy;   ///< `free some space`; begins with a verb
};

/// In place of an errno: the file is there, and belongs to another user who is not root.
inline constexpr int foreign_file = 0x10000;

/// Unlike strerror: the same in every locale, thread-safe, allocates nothing. `error`: a positive errno,
/// or foreign_file.
IoError describe_io_error(int error);

}  // namespace fp32shim::system
