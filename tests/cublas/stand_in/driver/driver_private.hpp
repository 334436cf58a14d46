// Functions that the driver's stand-in has only for the stand-ins of cuBLAS and cublasLt. They queue a kernel, and
// let it access device memory. They are exported under the version node STAND_IN_PRIVATE; no other program calls
// them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#pragma GCC visibility push(default)
#include <cuda.h>

namespace stand_in {

// Work on a stream. A graph replay may run it again. A result other than CUDA_SUCCESS breaks the context.
using Kernel = std::function<CUresult()>;

}  // namespace stand_in

extern "C" {

// Queues the kernel on the stream. NULL means the legacy default stream of the device's primary context.
CUresult stand_in_launch(int device, CUstream stream, const stand_in::Kernel& kernel);

// Runs the kernel on the device's default stream, and returns when the kernel is done.
CUresult stand_in_run(int device, const stand_in::Kernel& kernel);

// Returns the host's view of `bytes` bytes at a device address; NULL unless all of them lie in one allocation.
std::byte* stand_in_view(const void* address, std::size_t bytes);

// Adds simulated time to what the running kernel takes, by the clock of its stream.
void stand_in_take_time(std::uint64_t nanoseconds);

// Returns the compute capability of a device: 10 * major + minor.
int stand_in_compute_capability(int device);
}
#pragma GCC visibility pop
