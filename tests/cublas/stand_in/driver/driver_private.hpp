// What the stand-ins of cuBLAS and cublasLt need of the stand-in of the driver, beyond the driver API: queue a
// kernel, and reach device memory from it. Exported under the version node STAND_IN_PRIVATE; no other program calls
// it.
#pragma once

#include <cstddef>
#include <functional>

#pragma GCC visibility push(default)
#include <cuda.h>

namespace stand_in {

// Work on a stream. It may run more than once (graph replay); a result other than CUDA_SUCCESS breaks the context.
using Kernel = std::function<CUresult()>;

}  // namespace stand_in

extern "C" {

// Queues the kernel on the stream; NULL is the legacy default stream of the device's primary context.
CUresult stand_in_launch(int device, CUstream stream, const stand_in::Kernel& kernel);

// Runs the kernel on the device's default stream, and returns when it is done.
CUresult stand_in_run(int device, const stand_in::Kernel& kernel);

// Where the `bytes` bytes at a device address can be read and written; NULL unless they lie in one allocation.
std::byte* stand_in_view(const void* address, std::size_t bytes);

// Compute capability of a device: 10 * major + minor.
int stand_in_compute_capability(int device);
}
#pragma GCC visibility pop
