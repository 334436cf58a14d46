// One device for the clients: its primary context, memory, and copies to and from it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "api.hpp"

namespace clients {

/// Retains the primary context of a device and makes it current on this thread. Without a device, ends the program
/// with status 77, which ctest counts as skipped.
class Device {
  public:
    explicit Device(int index = 0);
    ~Device();
    Device(const Device&) = delete;
    Device& operator=(const Device&) = delete;

    void make_current() const;
    std::string compute_capability() const { return compute_capability_; }
    int index() const { return index_; }
    static int count();

  private:
    int index_;
    CUdevice device_ = 0;
    CUcontext context_ = nullptr;
    std::string compute_capability_;
};

/// Bytes on the current device, filled from `contents`, and aligned to 256 bytes, enough for every kernel.
class DeviceMemory {
  public:
    explicit DeviceMemory(std::size_t bytes);
    explicit DeviceMemory(const std::vector<unsigned char>& contents);
    template <class T>
    explicit DeviceMemory(const std::vector<T>& contents) : DeviceMemory(contents.size() * sizeof(T)) {
        write(contents.data(), contents.size() * sizeof(T));
    }
    ~DeviceMemory();
    DeviceMemory(DeviceMemory&& other) noexcept;
    DeviceMemory& operator=(DeviceMemory&&) = delete;

    void* address(std::size_t offset = 0) const { return reinterpret_cast<void*>(address_ + offset); }
    void write(const void* source, std::size_t bytes) const;
    void read(void* destination, std::size_t bytes) const;  ///< waits for all work of the default stream

  private:
    CUdeviceptr address_ = 0;
};

/// Ends the program with a message if the driver call failed.
void require(CUresult result, const char* what);

}  // namespace clients
