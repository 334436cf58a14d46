// Products that are captured into a CUDA graph, and replayed.
#pragma once

#include <functional>

#include "gpu_check/cuda/libraries.hpp"

namespace gpu {

/// Makes a stream that does not wait for others, and sets it as the handle's stream.
CUstream use_own_stream(const Cublas& cublas);
/// Captures the calls that `multiply` makes.
CUgraph capture(const Device& device, CUstream stream, const std::function<void()>& multiply);
/// Plays a graph twice, and waits for the end.
void replay(const Device& device, CUgraph graph, CUstream stream);

}  // namespace gpu
