// Which build of a library a process has loaded.
#pragma once

#include <string>
#include <string_view>

namespace gpu {

/// Returns the build id, in hexadecimal, of the loaded object whose file name begins so; "unknown" where it has none.
std::string build_id_of(std::string_view name);

}  // namespace gpu
