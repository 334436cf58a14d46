// Functions of driver.cpp for the other files of the driver: the scheduler, and the context that is current on a
// thread.
#pragma once

#include "driver/stream.hpp"

namespace stand_in {

Scheduler& scheduler();

/// Returns an error if cuInit was not called.
CUresult require_driver();

/// Returns an error if the running thread has no context, or if its context is broken.
CUresult require_context(CUcontext* context);

/// Replaces the names of default streams by the current context's stream. NULL and the two reserved values name
/// default streams. The per-thread default stream is treated like the legacy one.
CUresult require_stream(CUstream* stream);

}  // namespace stand_in
