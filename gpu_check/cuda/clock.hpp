// Times calls by the device's own clock, and by the processor time of the calling thread.
#pragma once

#include <functional>

#include "gpu_check/cuda/libraries.hpp"

namespace gpu {

class Event {
  public:
    explicit Event(const Device& device) : device_(device) {
        check(device_.driver.get<decltype(cuEventCreate)>("cuEventCreate")(&event_, CU_EVENT_DEFAULT),
              "cuEventCreate");
    }
    ~Event() { device_.driver.get<decltype(cuEventDestroy_v2)>("cuEventDestroy_v2")(event_); }
    Event(const Event&) = delete;
    Event& operator=(const Event&) = delete;

    void record() const {
        check(device_.driver.get<decltype(cuEventRecord)>("cuEventRecord")(event_, nullptr), "cuEventRecord");
    }
    float milliseconds_since(const Event& start) const;

  private:
    const Device& device_;
    CUevent event_ = nullptr;
};

/// Returns the milliseconds of one call: the mean of `repeats` calls in a row.
double milliseconds(const Device& device, int repeats, const std::function<void()>& call);

/// Returns the processor time that this thread has used. Other programs do not count, nor does waiting.
double nanoseconds_of_this_thread();

}  // namespace gpu
