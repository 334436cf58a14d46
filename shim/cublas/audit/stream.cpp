#include "shim/cublas/audit/stream.hpp"

#include <sys/syscall.h>

#include <algorithm>
#include <atomic>
#include <ctime>

#include "system/raw_syscall.hpp"
#include "system/stderr_line.hpp"

namespace fp32shim::cublas {
namespace {

constexpr std::int64_t second_ns = 1'000'000'000;
constexpr std::int64_t longest_wait_ns = 10 * second_ns;
constexpr std::int64_t shortest_sleep_ns = 10'000;
constexpr std::int64_t longest_sleep_ns = 1'000'000;

constinit std::atomic<bool> gave_up{false};

void sleep_for(std::int64_t nanoseconds) {
    const timespec length{0, nanoseconds};
    system::raw::syscall6(SYS_nanosleep, &length, 0);
}

void give_up() {
    if (gave_up.exchange(true, std::memory_order_relaxed)) return;
    system::stderr_line("audit: a CUDA stream was still busy after 10 s; no more products on GPUs are audited");
}

Copy2D::Endpoint on_device(const void* address, std::size_t pitch) {
    return {.memory_type = memory_unified, .device = reinterpret_cast<std::uintptr_t>(address), .pitch = pitch};
}
Copy2D::Endpoint on_host(const void* address, std::size_t pitch) {
    return {.memory_type = memory_host, .host = address, .pitch = pitch};
}

std::size_t row_bytes(const blas::Matrix& matrix, std::int64_t elements) {
    return static_cast<std::size_t>(elements) * static_cast<std::size_t>(matrix.width) * sizeof(float);
}

/// Returns the distance between two columns in bytes. For a single column, returns the column's length, since its
/// leading dimension may be any number.
std::size_t pitch_of(const blas::Matrix& matrix) {
    return row_bytes(matrix, matrix.outer() > 1 ? matrix.ld : matrix.inner());
}

}  // namespace

AuditStream::AuditStream(const CudaDriver& driver, Stream stream)
    : driver_(driver), stream_(stream), mode_(capture_relaxed) {
    driver_.exchange_capture_mode(&mode_);
}

AuditStream::~AuditStream() { driver_.exchange_capture_mode(&mode_); }

bool AuditStream::is_not_capturing() const {
    std::int32_t status = not_capturing;
    return driver_.stream_is_capturing(stream_, &status) == driver_success && status == not_capturing;
}

bool AuditStream::wait_until_idle() const {
    // If copies of this audit have begun, this function waits for them, even if another thread has given up in the
    // meantime.
    if (has_given_up_ || (!has_copies_ && gave_up.load(std::memory_order_relaxed))) return false;
    const std::int64_t begin = system::raw::clock_ns(CLOCK_MONOTONIC);
    std::int64_t length = shortest_sleep_ns;
    std::int32_t result = driver_.query_stream(stream_);
    while (result == driver_not_ready) {
        if (system::raw::clock_ns(CLOCK_MONOTONIC) - begin > longest_wait_ns) {
            has_given_up_ = true;
            give_up();
            return false;
        }
        sleep_for(length);
        length = std::min(2 * length, longest_sleep_ns);
        result = driver_.query_stream(stream_);
    }
    return result == driver_success;
}

bool AuditStream::wait_for_audit() const {
    const bool is_idle = wait_until_idle();
    if (is_idle) has_copies_ = false;
    return is_idle;
}

bool AuditStream::start_copy(const Copy2D& copy) const {
    has_copies_ = true;
    return driver_.copy(&copy, stream_) == driver_success;
}

bool AuditStream::read_rows(const void* device, std::size_t device_pitch, void* host, std::size_t host_pitch,
                            std::size_t width, std::size_t count) const {
    return start_copy({on_device(device, device_pitch), on_host(host, host_pitch), width, count});
}

bool AuditStream::write_bytes(const void* host, void* device, std::size_t size) const {
    return start_copy({on_host(host, size), on_device(device, size), size, 1});
}

bool AuditStream::copy_bytes(const void* from_device, void* to_device, std::size_t size) const {
    return start_copy({on_device(from_device, size), on_device(to_device, size), size, 1});
}

bool AuditStream::read_matrix(const blas::Matrix& device, const blas::Matrix& host) const {
    return read_rows(device.data, pitch_of(device), const_cast<float*>(host.data), pitch_of(host),
                     row_bytes(host, host.inner()), static_cast<std::size_t>(host.outer()));
}

bool AuditStream::write_matrix(const blas::Matrix& host, const blas::Matrix& device) const {
    // Neither matrix has gaps, so each counts as one row.
    return write_bytes(host.data, const_cast<float*>(device.data),
                       row_bytes(host, host.inner()) * static_cast<std::size_t>(host.outer()));
}

DeviceMemory::DeviceMemory(const AuditStream& stream, std::size_t size) : stream_(stream) {
    std::size_t free = 0;
    std::size_t total = 0;
    if (stream_.driver_.memory_info(&free, &total) != driver_success || size > free / 4 ||
        stream_.driver_.allocate(&address_, size, stream_.stream_) != driver_success)
        address_ = 0;
}

DeviceMemory::~DeviceMemory() {
    if (address_ != 0) stream_.driver_.release(address_, stream_.stream_);
}

}  // namespace fp32shim::cublas
