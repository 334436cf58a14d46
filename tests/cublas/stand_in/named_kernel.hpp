// Lets products launch a kernel that has a name, as those of the real libraries do.
//
// STAND_IN_CUBLAS_KERNEL=NAME: each product also launches an empty kernel of this name.
#pragma once

#include "driver/driver_private.hpp"

namespace stand_in {

/// Launches the kernel, if the environment names one, by the functions that the driver's cuGetProcAddress gives.
void launch_named_kernel(CUstream stream);

}  // namespace stand_in
