#include "gpu_check/cuda/clock.hpp"

#include <ctime>

namespace gpu {

float Event::milliseconds_since(const Event& start) const {
    check(device_.driver.get<decltype(cuEventSynchronize)>("cuEventSynchronize")(event_), "cuEventSynchronize");
    float result = 0;
    // Drivers before CUDA 13 have this function only without the suffix; it does the same.
    auto elapsed = device_.driver.find<decltype(cuEventElapsedTime)>("cuEventElapsedTime_v2");
    if (!elapsed) elapsed = device_.driver.find<decltype(cuEventElapsedTime)>("cuEventElapsedTime");
    if (!elapsed) throw std::runtime_error(device_.driver.file() + " has no cuEventElapsedTime");
    check(elapsed(&result, start.event_, event_), "cuEventElapsedTime");
    return result;
}

double milliseconds(const Device& device, int repeats, const std::function<void()>& call) {
    const Event start(device);
    const Event end(device);
    start.record();
    for (int i = 0; i < repeats; ++i) call();
    end.record();
    return static_cast<double>(end.milliseconds_since(start)) / repeats;
}

double nanoseconds_of_this_thread() {
    timespec time{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return 1e9 * static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec);
}

}  // namespace gpu
