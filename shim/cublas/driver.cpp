#include "shim/cublas/driver.hpp"

#include "shim/loader/elf/objects.hpp"
#include "shim/loader/elf/readers.hpp"
#include "shim/loader/provider.hpp"

namespace fp32shim::cublas {
namespace {

/// Returns the record of the driver's library, or nullptr. Precondition: an elf::Reading is held.
const LoadedObject* driver_object() {
    for (const link_map* map = elf::first_object(); map != nullptr; map = map->l_next)
        if (elf::read_object(map).name() == "libcuda.so.1") return loaded_object(map);
    return nullptr;
}

}  // namespace

Device current_device() {
    ForeignFunction<std::int32_t(std::int32_t * device)> get_device;
    ForeignFunction<std::int32_t(std::int32_t * value, std::int32_t attribute, std::int32_t device)> get_attribute;
    {
        const elf::Reading reading;
        if (const LoadedObject* const object = driver_object()) {
            find_in(*object, "cuCtxGetDevice", get_device);
            find_in(*object, "cuDeviceGetAttribute", get_attribute);
        }
    }
    Device device;
    std::int32_t index = -1;
    std::int32_t major = 0;
    std::int32_t minor = 0;
    if (get_device == nullptr || get_attribute == nullptr || get_device(&index) != 0) return device;
    device.index = index;
    if (get_attribute(&major, compute_capability_major, index) == 0 &&
        get_attribute(&minor, compute_capability_minor, index) == 0)
        device.compute_capability = major * 10 + minor;
    return device;
}

Driver find_driver() {
    const elf::Reading reading;
    Driver driver;
    const LoadedObject* const object = driver_object();
    if (object == nullptr) return driver;
    find_in(*object, "cuStreamIsCapturing", driver.stream_is_capturing);
    find_in(*object, "cuThreadExchangeStreamCaptureMode", driver.exchange_capture_mode);
    find_in(*object, "cuStreamQuery", driver.query_stream);
    find_in(*object, "cuMemGetInfo_v2", driver.memory_info);
    find_in(*object, "cuMemAllocAsync", driver.allocate);
    find_in(*object, "cuMemFreeAsync", driver.release);
    find_in(*object, "cuMemcpy2DAsync_v2", driver.copy);
    return driver;
}

}  // namespace fp32shim::cublas
