#include "shim/cublas/driver.hpp"

#include <algorithm>

#include "shim/loader/elf/objects.hpp"
#include "shim/loader/elf/readers.hpp"
#include "shim/loader/provider.hpp"

namespace fp32shim::cublas {
namespace {

/// Returns the loaded object of the CUDA driver, or nullptr if it is not loaded. Precondition: an elf::ReadGuard is
/// held.
const LoadedObject* driver_object() {
    for (const link_map* map = elf::first_object(); map != nullptr; map = map->l_next)
        if (elf::read_object_tables(map).name() == "libcuda.so.1") return loaded_object(map);
    return nullptr;
}

using GetAttribute = ForeignFunction<std::int32_t(std::int32_t* value, std::int32_t attribute, std::int32_t device)>;

/// Returns a device's compute capability in the form of Device::compute_capability, or 0 if the driver does not tell
/// it.
std::int32_t compute_capability_of(const GetAttribute& get_attribute, std::int32_t device) {
    std::int32_t major = 0, minor = 0;
    return get_attribute(&major, compute_capability_major, device) == 0 &&
                   get_attribute(&minor, compute_capability_minor, device) == 0
               ? major * 10 + minor
               : 0;
}

/// Calls the driver's function `function`, which stores a number in `number`. Sets `get_attribute` to the driver's
/// cuDeviceGetAttribute. Returns false if the driver lacks one of the two functions, or if `function` reports an
/// error.
bool call_driver(std::string_view function, std::int32_t& number, GetAttribute& get_attribute) {
    ForeignFunction<std::int32_t(std::int32_t*)> get;
    {
        const elf::ReadGuard reading;
        const LoadedObject* const object = driver_object();
        if (object == nullptr) return false;
        find_symbol_in(*object, function, get);
        find_symbol_in(*object, "cuDeviceGetAttribute", get_attribute);
    }
    return get != nullptr && get_attribute != nullptr && get(&number) == 0;
}

}  // namespace

Device current_device() {
    GetAttribute get_attribute;
    std::int32_t index = -1;
    if (!call_driver("cuCtxGetDevice", index, get_attribute)) return {};
    return {.index = index, .compute_capability = compute_capability_of(get_attribute, index)};
}

std::array<std::int32_t, 9> compute_capabilities() {
    std::array<std::int32_t, 9> found{};
    GetAttribute get_attribute;
    std::int32_t count = 0;
    if (!call_driver("cuDeviceGetCount", count, get_attribute)) return found;
    std::size_t size = 0;
    for (std::int32_t i = 0; i < count && size + 1 < found.size(); ++i) {
        const std::int32_t one = compute_capability_of(get_attribute, i);
        if (one != 0 && std::ranges::count(found, one) == 0) found[size++] = one;
    }
    return found;
}

void* CudaDriver::symbol(const char* name) const {
    return object == nullptr ? nullptr : find_symbol_in(*object, name);
}

CudaDriver find_cuda_driver() {
    const elf::ReadGuard reading;
    return CudaDriver(driver_object());
}

}  // namespace fp32shim::cublas
