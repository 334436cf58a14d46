// The program's stream, as an audit uses it: copies between device and host, device memory, and waiting. The driver
// itself is called: cuBLAS would keep an error of its own copies, and could report it for a product of the program's.
#pragma once

#include <cstddef>
#include <cstdint>

#include "shim/audit/packed.hpp"
#include "shim/cublas/driver.hpp"
#include "shim/memory/mapped_memory.hpp"

namespace fp32shim::cublas {

/// While it lives, this thread may allocate and wait although another thread captures a stream, as the driver lets
/// allocators do. All functions return false if the driver refuses, and leave no error behind. Precondition:
/// driver.is_complete().
class AuditStream {
  public:
    AuditStream(const Driver& driver, Stream stream);
    ~AuditStream();
    AuditStream(const AuditStream&) = delete;
    AuditStream& operator=(const AuditStream&) = delete;

    /// Returns false while the stream is captured into a graph, when nothing may be waited for.
    bool is_not_capturing() const;
    /// Waits until the stream has nothing left to do. Returns false if that takes more than ten seconds: then it may
    /// wait for something that only this thread would do. From then on no audit of this process begins.
    bool wait_until_idle() const;
    /// Does the same for the copies and products that the audit has put on the stream.
    bool wait() const;
    /// Returns false if copies may still run, although they were waited for.
    bool has_ended() const { return !has_copies_ || wait(); }

    /// Copies `count` rows of `width` bytes from the device. A pitch is the distance of two rows, in bytes.
    bool read_rows(const void* device, std::size_t device_pitch, void* host, std::size_t host_pitch,
                   std::size_t width, std::size_t count) const;
    bool read_bytes(const void* device, void* host, std::size_t size) const {
        return read_rows(device, size, host, size, size, 1);
    }
    bool write_bytes(const void* host, void* device, std::size_t size) const;
    /// Copies a matrix from the device into one of the same size on the host, or back.
    bool read(const blas::Matrix& device, const blas::Matrix& host) const;
    bool write(const blas::Matrix& host, const blas::Matrix& device) const;

  private:
    friend class DeviceMemory;
    bool copy(const Copy2D& copy) const;

    const Driver& driver_;
    Stream stream_;
    std::int32_t mode_;                  ///< the thread's own capture mode, meanwhile
    mutable bool has_copies_ = false;    ///< copies were started and not waited for
    mutable bool has_given_up_ = false;  ///< they did not end in time
};

/// Memory on the host that the copies of one audit read and write. If these do not end, it stays mapped for good:
/// otherwise they would write to memory that is not there, or is somebody else's.
class HostMemory {
  public:
    HostMemory(const AuditStream& stream, std::size_t size) : stream_(stream), memory_(size) {}
    ~HostMemory() {
        if (!stream_.has_ended()) memory_.abandon();
    }
    HostMemory(const HostMemory&) = delete;
    HostMemory& operator=(const HostMemory&) = delete;

    /// Returns the bytes, zeros at first; empty if the kernel had none.
    std::span<char> bytes() const { return memory_.bytes(); }

  private:
    const AuditStream& stream_;
    MappedMemory memory_;
};

/// Memory on the device for the time of one audit, in the order of the stream. At most a quarter of what is free.
class DeviceMemory {
  public:
    DeviceMemory(const AuditStream& stream, std::size_t size);
    ~DeviceMemory();
    DeviceMemory(const DeviceMemory&) = delete;
    DeviceMemory& operator=(const DeviceMemory&) = delete;

    /// Returns the address; nullptr: there is no memory.
    char* begin() const { return reinterpret_cast<char*>(address_); }

  private:
    const AuditStream& stream_;
    std::uint64_t address_ = 0;
};

}  // namespace fp32shim::cublas
