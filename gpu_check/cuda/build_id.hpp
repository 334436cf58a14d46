// Tells the build of a library that a process has loaded.
#pragma once

#include <string>
#include <string_view>

namespace gpu {

/// Returns the build id, in hexadecimal, of the loaded object whose file name begins with `name`; "unknown": it has
/// none.
std::string build_id_of(std::string_view name);

}  // namespace gpu
