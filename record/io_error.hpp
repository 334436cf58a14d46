// What an errno of a log or recording means to its operator, and what to do about it.
#pragma once

#include <string_view>

namespace fp32shim::record {

struct IoError {
    std::string_view meaning;  ///< `no space left on device (ENOSPC)`
    std::string_view remedy;   ///< `free some space`; begins with a verb
};

/// Unlike strerror: the same in every locale, thread-safe, allocates nothing. `error`: a positive errno.
IoError describe_io_error(int error);

}  // namespace fp32shim::record
