// The program's stream in use by an audit: copies between device and host, device memory, and waiting. The driver is
// called directly. If cuBLAS made the copies, it would keep an error of one, and could report it for a product of the
// program.
#pragma once

#include <cstddef>
#include <cstdint>

#include "shim/audit/packed.hpp"
#include "shim/cublas/driver.hpp"
#include "system/mapped_memory.hpp"

namespace fp32shim::cublas {

/// While this object exists, this thread may allocate and wait even if another thread captures a stream; the driver
/// offers this mode to allocators. All functions return false if the driver reports an error, and leave no error
/// behind. Precondition: driver.has_audit_functions().
class AuditStream {
  public:
    AuditStream(const CudaDriver& driver, Stream stream);
    ~AuditStream();
    AuditStream(const AuditStream&) = delete;
    AuditStream& operator=(const AuditStream&) = delete;

    /// Returns false while the stream is captured into a graph. During capture nothing may be waited for.
    bool is_not_capturing() const;
    /// Waits until the stream has nothing left to do. Returns false after ten seconds: the stream may be waiting for
    /// something that only this thread would do. From then on, no audit of this process begins.
    bool wait_until_idle() const;
    /// Waits in the same way for the copies and products that the audit has put on the stream.
    bool wait_for_audit() const;
    /// Returns false if copies may still be running, although this thread has waited for them.
    bool have_copies_ended() const { return !has_copies_ || wait_for_audit(); }

    /// Copies `count` rows of `width` bytes from the device. A pitch is the distance between two rows, in bytes.
    bool read_rows(const void* device, std::size_t device_pitch, void* host, std::size_t host_pitch,
                   std::size_t width, std::size_t count) const;
    bool read_bytes(const void* device, void* host, std::size_t size) const {
        return read_rows(device, size, host, size, size, 1);
    }
    bool write_bytes(const void* host, void* device, std::size_t size) const;
    bool copy_bytes(const void* from_device, void* to_device, std::size_t size) const;
    /// Copies a matrix from the device to one of the same size on the host, or back.
    bool read_matrix(const blas::Matrix& device, const blas::Matrix& host) const;
    bool write_matrix(const blas::Matrix& host, const blas::Matrix& device) const;

  private:
    friend class DeviceMemory;
    bool start_copy(const Copy2D& copy) const;

    const CudaDriver& driver_;
    Stream stream_;
    std::int32_t mode_;                  ///< the thread's previous capture mode
    mutable bool has_copies_ = false;    ///< copies were started and have not been waited for
    mutable bool has_given_up_ = false;  ///< copies did not end in time
};

/// Host memory that the copies of one audit read and write. If the copies do not end, it stays mapped for good, since
/// they may still write to it.
class HostMemory {
  public:
    HostMemory(const AuditStream& stream, std::size_t size) : stream_(stream), memory_(size) {}
    ~HostMemory() {
        if (!stream_.have_copies_ended()) memory_.abandon();
    }
    HostMemory(const HostMemory&) = delete;
    HostMemory& operator=(const HostMemory&) = delete;

    /// Returns the memory, zeroed at first; empty if the kernel had none.
    std::span<char> bytes() const { return memory_.bytes(); }

  private:
    const AuditStream& stream_;
    MappedMemory memory_;
};

/// Device memory for one audit, allocated in the order of the stream. At most a quarter of the free memory.
class DeviceMemory {
  public:
    DeviceMemory(const AuditStream& stream, std::size_t size);
    ~DeviceMemory();
    DeviceMemory(const DeviceMemory&) = delete;
    DeviceMemory& operator=(const DeviceMemory&) = delete;

    /// Returns the address, or nullptr if there is no memory.
    char* begin() const { return reinterpret_cast<char*>(address_); }

  private:
    const AuditStream& stream_;
    std::uint64_t address_ = 0;
};

}  // namespace fp32shim::cublas
