// Gives an audit the use of the program's stream: copies between device and host, device memory, and waiting. The
// driver is called directly. If cuBLAS made the copies, it would keep the error of a copy, and could report it for a
// product of the program.
#pragma once

#include <cstddef>
#include <cstdint>

#include "shim/audit/packed.hpp"
#include "shim/cublas/driver.hpp"
#include "system/mapped_memory.hpp"

namespace fp32shim::cublas {

/// While this object exists, this thread is in the driver's relaxed capture mode, in which it may allocate and wait
/// even if another thread captures a stream. All functions return false if the driver reports an error, and leave no
/// error behind. Precondition: driver.has_audit_functions().
class AuditStream {
  public:
    AuditStream(const CudaDriver& driver, Stream stream);
    ~AuditStream();
    AuditStream(const AuditStream&) = delete;
    AuditStream& operator=(const AuditStream&) = delete;

    /// Returns false while the stream is being captured into a graph. During capture, waiting is not allowed.
    bool is_not_capturing() const;
    /// Waits until the stream has nothing left to do. Returns false after ten seconds, since the stream may be
    /// waiting for something that only this thread would do. From then on, no audit of this process begins.
    bool wait_until_idle() const;
    /// Waits for the copies and products that the audit has put on the stream. Gives up like wait_until_idle().
    bool wait_for_audit() const;
    /// Waits for the audit's copies. Returns false if some may still be running afterwards.
    bool have_copies_ended() const { return !has_copies_ || wait_for_audit(); }

    /// Copies `count` rows of `width` bytes from the device to the host. A pitch is the distance between two rows, in
    /// bytes.
    bool read_rows(const void* device, std::size_t device_pitch, void* host, std::size_t host_pitch,
                   std::size_t width, std::size_t count) const;
    bool read_bytes(const void* device, void* host, std::size_t size) const {
        return read_rows(device, size, host, size, size, 1);
    }
    bool write_bytes(const void* host, void* device, std::size_t size) const;
    bool copy_bytes(const void* from_device, void* to_device, std::size_t size) const;
    /// These functions copy a matrix from the device to a matrix of the same size on the host, or back.
    bool read_matrix(const blas::Matrix& device, const blas::Matrix& host) const;
    bool write_matrix(const blas::Matrix& host, const blas::Matrix& device) const;

  private:
    friend class DeviceMemory;
    bool start_copy(const Copy2D& copy) const;

    const CudaDriver& driver_;
    Stream stream_;
    std::int32_t mode_;                  ///< the capture mode that the thread had before
    mutable bool has_copies_ = false;    ///< true if copies were started, and no wait for them has succeeded
    mutable bool has_given_up_ = false;  ///< true if a wait took too long
};

/// Host memory that the copies of one audit read and write. If the copies do not end, the memory stays mapped for
/// good, since they may still write to it.
class HostMemory {
  public:
    HostMemory(const AuditStream& stream, std::size_t size) : stream_(stream), memory_(size) {}
    ~HostMemory() {
        if (!stream_.have_copies_ended()) memory_.keep_mapped();
    }
    HostMemory(const HostMemory&) = delete;
    HostMemory& operator=(const HostMemory&) = delete;

    /// Returns the memory, which is zeroed at first. The memory is empty if the kernel had none.
    std::span<char> bytes() const { return memory_.bytes(); }

  private:
    const AuditStream& stream_;
    MappedMemory memory_;
};

/// Device memory for one audit, allocated in the order of the stream. It is at most a quarter of the free memory.
class DeviceMemory {
  public:
    DeviceMemory(const AuditStream& stream, std::size_t size);
    ~DeviceMemory();
    DeviceMemory(const DeviceMemory&) = delete;
    DeviceMemory& operator=(const DeviceMemory&) = delete;

    /// Returns the address of the memory, or nullptr if there is no memory.
    char* begin() const { return reinterpret_cast<char*>(address_); }

  private:
    const AuditStream& stream_;
    std::uint64_t address_ = 0;
};

}  // namespace fp32shim::cublas
