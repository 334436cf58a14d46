#include "gpu_check/cuda/clock.hpp"

namespace gpu {

double milliseconds(const Device& device, int repeats, const std::function<void()>& call) {
    const Library& driver = device.driver;
    CUevent start = nullptr;
    CUevent end = nullptr;
    for (CUevent* const event : {&start, &end}) CHECKED(driver, cuEventCreate, event, CU_EVENT_DEFAULT);
    CHECKED(driver, cuEventRecord, start, nullptr);
    for (int i = 0; i < repeats; ++i) call();
    CHECKED(driver, cuEventRecord, end, nullptr);
    CHECKED(driver, cuEventSynchronize, end);
    // Drivers before CUDA 13 have this function only without the suffix; it does the same.
    auto elapsed = driver.find<decltype(cuEventElapsedTime)>("cuEventElapsedTime_v2");
    if (elapsed == nullptr) elapsed = &driver.get<decltype(cuEventElapsedTime)>("cuEventElapsedTime");
    float result = 0;
    check(elapsed(&result, start, end), "cuEventElapsedTime");
    for (const CUevent event : {start, end}) CHECKED(driver, cuEventDestroy_v2, event);
    return static_cast<double>(result) / repeats;
}

}  // namespace gpu
