// Times calls by the device's own clock, and by the processor time of the calling thread.
#pragma once

#include <functional>

#include "gpu_check/cuda/libraries.hpp"

namespace gpu {

/// Returns the milliseconds of one call: the mean of `repeats` calls in a row.
double milliseconds(const Device& device, int repeats, const std::function<void()>& call);

/// Returns the processor time that this thread has used. Other programs do not count, nor does waiting.
double nanoseconds_of_this_thread();

}  // namespace gpu
