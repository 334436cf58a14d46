// Modules, libraries, and the functions and kernels in them.
#pragma once

#include "driver/driver_private.hpp"
#include "driver/launch_counts.hpp"

namespace stand_in {

/// Returns the counts of a function, or of a kernel of a library that was cast to a function, as launches take it.
/// Returns NULL if the handle is not valid, for example because its module was unloaded.
LaunchCounts* counts_of(CUfunction function);

}  // namespace stand_in
