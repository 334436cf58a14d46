#include "gpu_check/cuda/libraries.hpp"

#include <dlfcn.h>
#include <link.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <span>
#include <utility>

#include "system/elf.hpp"

namespace gpu {
namespace {

/// Values of CUresult that users may meet, and texts that explain them.
constexpr std::pair<int, const char*> meanings[] = {
    {2, ", the device is out of memory"},
    {34, ", libcuda.so.1 is the toolkit's stub, not the driver's library"},
    {46, ", another process has the device for itself"},
    {100, ", there is no device"},
    {304, ", the system refuses a call of the driver, for example to open its device files"},
    {700, ", a kernel read or wrote outside its memory"},
    {716, ", a kernel met an address that is not aligned"},
    {719, ", a kernel failed"},
    {802, ", the system is not ready: is the fabric manager running?"},
    {803, ", the driver's library and its kernel module differ"},
    {804, ", the forward-compatible driver library does not run on this device"},
    {805, ", the MPS server cannot be reached"},
    {807, ", the MPS server cannot be reached"},
    {999, ", a fault that the driver does not name"},
};

const char* meaning_of(CUresult result) {
    for (const auto& [value, meaning] : meanings)
        if (value == result) return meaning;
    return "";
}

/// Returns a possible reason why this process sees no device; empty if no reason is known.
std::string why_no_device() {
    if (const char* const visible = std::getenv("CUDA_VISIBLE_DEVICES"))
        return std::string("; CUDA_VISIBLE_DEVICES is '") + visible + "'";
    constexpr const char* control = "/dev/nvidiactl";
    if (access(control, F_OK) == 0 && access(control, R_OK | W_OK) != 0)
        return std::string("; this user may not open ") + control;
    return {};
}

/// Returns the major version in a library's file name, such as 13 for libcublas.so.13.
int major_version(const std::string& file) { return std::atoi(file.substr(file.rfind('.') + 1).c_str()); }

}  // namespace

void throw_on_error(CUresult result, const char* what) {
    if (result == CUDA_SUCCESS) return;
    throw std::runtime_error(std::string(what) + ": CUresult " + std::to_string(result) + meaning_of(result));
}

Library::Library(std::initializer_list<const char*> names) {
    std::string first_error;
    for (const char* name : names) {
        handle_ = dlopen(name, RTLD_NOW | RTLD_LOCAL);
        if (handle_) {
            file_ = name;
            return;
        }
        if (first_error.empty()) first_error = dlerror();
    }
    throw NoDeviceError(std::string(*names.begin()).starts_with("libcuda") ? "no CUDA device: " + first_error
                                                                           : "no cuBLAS: " + first_error);
}

void* Library::address(const char* name) const { return dlsym(handle_, name); }

void* Library::address_in_library(const char* name) const {
    const link_map* map = nullptr;
    if (dlinfo(handle_, RTLD_DI_LINKMAP, &map) != 0) return nullptr;
    const ElfW(Sym)* symbols = nullptr;
    const char* strings = nullptr;
    const std::uint32_t* hash = nullptr;
    for (const ElfW(Dyn)* entry = map->l_ld; entry->d_tag != DT_NULL; ++entry) {
        const auto* const table = reinterpret_cast<const void*>(entry->d_un.d_ptr);
        if (entry->d_tag == DT_SYMTAB) symbols = static_cast<const ElfW(Sym)*>(table);
        if (entry->d_tag == DT_STRTAB) strings = static_cast<const char*>(table);
        if (entry->d_tag == DT_GNU_HASH) hash = static_cast<const std::uint32_t*>(table);
    }
    if (symbols == nullptr || strings == nullptr || hash == nullptr) return nullptr;
    const std::uint64_t count = fp32shim::system::symbols_in_gnu_hash(
        [&](std::uint64_t first, std::uint64_t words) { return std::span(hash + first, words); });
    for (std::uint64_t i = 0; i < count; ++i)
        if (symbols[i].st_shndx != SHN_UNDEF && std::strcmp(strings + symbols[i].st_name, name) == 0)
            return reinterpret_cast<void*>(map->l_addr + symbols[i].st_value);
    return nullptr;
}

std::string build_id_of(std::string_view name) {
    std::pair<std::string_view, std::string> wanted{name, "unknown"};
    const auto visit = [](dl_phdr_info* object, std::size_t, void* data) {
        auto& [file, id] = *static_cast<std::pair<std::string_view, std::string>*>(data);
        const std::string_view path = object->dlpi_name;
        if (!path.substr(path.rfind('/') + 1).starts_with(file)) return 0;
        for (const ElfW(Phdr) & segment : std::span(object->dlpi_phdr, object->dlpi_phnum)) {
            if (segment.p_type != PT_NOTE) continue;
            // dl_iterate_phdr() gives the address as a number. It can be read, because the loader mapped the object
            // there.
            const auto* notes = reinterpret_cast<const std::uint8_t*>(object->dlpi_addr + segment.p_vaddr);
            const auto bytes = fp32shim::system::build_id_in({notes, segment.p_memsz}, segment.p_align);
            if (bytes.empty()) continue;
            id.clear();
            for (const std::uint8_t byte : bytes)
                for (const int digit : {byte >> 4, byte & 15}) id += "0123456789abcdef"[digit];
            break;
        }
        return 1;
    };
    dl_iterate_phdr(visit, &wanted);
    return wanted.second;
}

Library open_cuda_library(const char* name) {
    const std::string base = name + std::string(".so.");
    if (const char* major = std::getenv("GPU_CUBLAS_MAJOR")) return Library{(base + major).c_str()};
    return Library{(base + "13").c_str(), (base + "12").c_str()};
}

Device::Device() {
    const CUresult started = driver.get<decltype(cuInit)>("cuInit")(0);
    int count = 0;
    if (started == CUDA_SUCCESS) CHECKED(driver, cuDeviceGetCount, &count);
    if (count == 0)
        throw NoDeviceError("no CUDA device: cuInit says " + std::to_string(started) + meaning_of(started) +
                            ", devices: " + std::to_string(count) + why_no_device());
    devices = count;

    CUdevice device = 0;
    CHECKED(driver, cuDeviceGet, &device, 0);
    CHECKED(driver, cuDevicePrimaryCtxRetain, &context_, device);
    make_current();

    char text[256] = "";
    CHECKED(driver, cuDeviceGetName, text, sizeof text, device);
    name = text;
    CHECKED(driver, cuDriverGetVersion, &driver_version);
    int major = 0;
    int minor = 0;
    CHECKED(driver, cuDeviceGetAttribute, &major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device);
    CHECKED(driver, cuDeviceGetAttribute, &minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device);
    compute_capability = 10 * major + minor;
}

void Device::make_current() const { CHECKED(driver, cuCtxSetCurrent, context_); }

std::string Device::free_memory_text() const {
    std::size_t free_bytes = 0;
    std::size_t total = 0;
    const auto ask = driver.find<decltype(cuMemGetInfo_v2)>("cuMemGetInfo_v2");
    if (ask == nullptr || ask(&free_bytes, &total) != CUDA_SUCCESS) return {};
    return "; " + std::to_string(free_bytes >> 20) + " of " + std::to_string(total >> 20) + " MiB are free";
}

void Device::synchronise() const { CHECKED(driver, cuCtxSynchronize); }

double measure_milliseconds(const Device& device, int repeats, const std::function<void()>& call) {
    const Library& driver = device.driver;
    CUevent start = nullptr;
    CUevent end = nullptr;
    for (CUevent* const event : {&start, &end}) CHECKED(driver, cuEventCreate, event, CU_EVENT_DEFAULT);
    CHECKED(driver, cuEventRecord, start, nullptr);
    for (int i = 0; i < repeats; ++i) call();
    CHECKED(driver, cuEventRecord, end, nullptr);
    CHECKED(driver, cuEventSynchronize, end);
    // Drivers before CUDA 13 have only cuEventElapsedTime without a suffix, which does the same as
    // cuEventElapsedTime_v2.
    auto elapsed = driver.find<decltype(cuEventElapsedTime)>("cuEventElapsedTime_v2");
    if (elapsed == nullptr) elapsed = &driver.get<decltype(cuEventElapsedTime)>("cuEventElapsedTime");
    float result = 0;
    throw_on_error(elapsed(&result, start, end), "cuEventElapsedTime");
    for (const CUevent event : {start, end}) CHECKED(driver, cuEventDestroy_v2, event);
    return static_cast<double>(result) / repeats;
}

DeviceBuffer::DeviceBuffer(const Device& device, std::size_t bytes) : device_(device) {
    CHECKED(device.driver, cuMemAlloc_v2, &address_, bytes);
}

DeviceBuffer::DeviceBuffer(const Device& device, const void* host, std::size_t bytes) : DeviceBuffer(device, bytes) {
    upload(host, bytes);
}

DeviceBuffer::~DeviceBuffer() { device_.driver.get<decltype(cuMemFree_v2)>("cuMemFree_v2")(address_); }

// The driver may return from a copy or a fill before the device has finished it. A product on its own stream does not
// wait for the default stream, so upload() and fill_with_nan() wait for the device.
void DeviceBuffer::upload(const void* host, std::size_t bytes, std::size_t offset) {
    CHECKED(device_.driver, cuMemcpyHtoD_v2, address_ + offset, host, bytes);
    device_.synchronise();
}

void DeviceBuffer::fill_with_nan(std::size_t bytes) {
    constexpr unsigned nan_bits = 0x7fc00000;
    CHECKED(device_.driver, cuMemsetD32_v2, address_, nan_bits, bytes / sizeof(float));
    device_.synchronise();
}

void DeviceBuffer::download(void* host, std::size_t bytes) const {
    device_.synchronise();
    CHECKED(device_.driver, cuMemcpyDtoH_v2, host, address_, bytes);
}

Cublas::Cublas(const Device& device) : device(device) {
    const cublasStatus_t status = library.get<decltype(cublasCreate_v2)>("cublasCreate_v2")(&handle);
    if (status != CUBLAS_STATUS_SUCCESS) {
        const int driver = device.driver_version;
        const std::string why = "cuBLAS does not run on " + device.name + ", whose driver supports CUDA " +
                                std::to_string(driver / 1000) + "." + std::to_string(driver % 1000 / 10) +
                                ": cublasCreate of " + library.file_name() + " says " + status_name(status);
        if (status == CUBLAS_STATUS_ARCH_MISMATCH || driver / 1000 < major_version(library.file_name()))
            throw NoDeviceError(why);
        throw std::runtime_error(why + device.free_memory_text());
    }
    int number = 0;
    CHECKED(library, cublasGetVersion_v2, handle, &number);
    version = std::to_string(number / 10000) + "." + std::to_string(number / 100 % 100) + "." +
              std::to_string(number % 100);
}

Cublas::~Cublas() { library.get<decltype(cublasDestroy_v2)>("cublasDestroy_v2")(handle); }

void Cublas::set_math_mode(cublasMath_t mode) const { CHECKED(library, cublasSetMathMode, handle, mode); }

const char* status_name(cublasStatus_t status) {
    switch (status) {
#define NAMED(name)            \
    case CUBLAS_STATUS_##name: \
        return #name;
        NAMED(SUCCESS)
        NAMED(NOT_INITIALIZED)
        NAMED(ALLOC_FAILED)
        NAMED(INVALID_VALUE)
        NAMED(ARCH_MISMATCH)
        NAMED(MAPPING_ERROR)
        NAMED(EXECUTION_FAILED)
        NAMED(INTERNAL_ERROR)
        NAMED(NOT_SUPPORTED)
        NAMED(LICENSE_ERROR)
#undef NAMED
    }
    return "unknown status";
}

void throw_on_error(cublasStatus_t status, const char* what) {
    if (status != CUBLAS_STATUS_SUCCESS) throw std::runtime_error(std::string(what) + ": " + status_name(status));
}

}  // namespace gpu
