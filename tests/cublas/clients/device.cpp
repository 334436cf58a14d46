#include "device.hpp"

#include <cstdio>
#include <cstdlib>
#include <utility>

namespace clients {

void require(CUresult result, const char* what) {
    if (result == CUDA_SUCCESS) return;
    std::fprintf(stderr, "%s failed: CUresult %d\n", what, static_cast<int>(result));
    std::exit(3);
}

int Device::count() {
    constexpr int skipped = 77;
    int count = 0;
    if (api().cuInit == nullptr || api().cuInit(0) != CUDA_SUCCESS ||
        api().cuDeviceGetCount(&count) != CUDA_SUCCESS || count == 0) {
        std::fputs("no CUDA device\n", stderr);
        std::exit(skipped);
    }
    return count;
}

Device::Device(int index) : index_(index) {
    count();
    require(api().cuDeviceGet(&device_, index), "cuDeviceGet");
    require(api().cuDevicePrimaryCtxRetain(&context_, device_), "cuDevicePrimaryCtxRetain");
    int major = 0;
    int minor = 0;
    api().cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device_);
    api().cuDeviceGetAttribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device_);
    compute_capability_ = std::to_string(major) + '.' + std::to_string(minor);
    make_current();
}

Device::~Device() { api().cuDevicePrimaryCtxRelease_v2(device_); }

void Device::make_current() const { require(api().cuCtxSetCurrent(context_), "cuCtxSetCurrent"); }

DeviceMemory::DeviceMemory(std::size_t bytes) {
    require(api().cuMemAlloc_v2(&address_, bytes == 0 ? 1 : bytes), "cuMemAlloc_v2");
}

DeviceMemory::DeviceMemory(const std::vector<unsigned char>& contents) : DeviceMemory(contents.size()) {
    write(contents.data(), contents.size());
}

DeviceMemory::DeviceMemory(DeviceMemory&& other) noexcept : address_(std::exchange(other.address_, 0)) {}

DeviceMemory::~DeviceMemory() {
    if (address_ != 0) api().cuMemFree_v2(address_);
}

void DeviceMemory::write(const void* source, std::size_t bytes) const {
    if (bytes != 0) require(api().cuMemcpyHtoD_v2(address_, source, bytes), "cuMemcpyHtoD_v2");
}

void DeviceMemory::read(void* destination, std::size_t bytes) const {
    if (bytes != 0) require(api().cuMemcpyDtoH_v2(destination, address_, bytes), "cuMemcpyDtoH_v2");
}

}  // namespace clients
