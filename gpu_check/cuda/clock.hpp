// Times calls by the device's own clock.
#pragma once

#include <functional>

#include "gpu_check/cuda/libraries.hpp"

namespace gpu {

/// Returns the milliseconds of one call: the mean of `repeats` calls in a row.
double milliseconds(const Device& device, int repeats, const std::function<void()>& call);

}  // namespace gpu
