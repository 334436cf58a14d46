// The state of the driver, which its files share: devices with their contexts, memory, and the scheduler of streams.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include "driver/device_memory.hpp"
#include "driver/stream.hpp"

namespace stand_in {

struct Device {
    int major = 9;
    int minor = 0;
    CUctx_st primary;
};

struct Driver {
    /// Reads the environment.
    Driver();

    Device* device(CUdevice ordinal) {
        return ordinal >= 0 && ordinal < static_cast<int>(devices.size()) ? devices[ordinal].get() : nullptr;
    }

    std::atomic<bool> initialized = false;
    std::mutex retain_mutex;
    std::vector<std::unique_ptr<Device>> devices;
    DeviceMemory memory;
    Scheduler scheduler;
};

/// Returns the driver. It is never destroyed, since programs call it from their own destructors.
Driver& driver();

/// Returns the contexts that the running thread has pushed; the last one is current.
std::vector<CUcontext>& context_stack();
/// Returns the context that is current on this thread; nullptr: there is none.
CUcontext current();

/// Tells how the running thread takes part in captures of streams.
CUstreamCaptureMode& thread_capture_mode();
/// Returns an error if a capture forbids calls that are not safe during one.
CUresult allow_unsafe_call(CUcontext context);

/// Never returns if STAND_IN_HANGS names this function; with STAND_IN_HANGS_FROM, only once that file exists.
void hang_if_told(const char* function);

/// Returns an error if cuInit was not called.
CUresult require_driver();

/// Returns an error if the running thread has no context, or if its context is broken.
CUresult require_context(CUcontext* context);

/// Replaces the names of default streams by the current context's stream. NULL and the two reserved values name
/// default streams. The per-thread default stream is treated like the legacy one.
CUresult require_stream(CUstream* stream);

}  // namespace stand_in
