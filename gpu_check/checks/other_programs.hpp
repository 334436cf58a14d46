// Judges other programs in lines of the verdict: frameworks under the library, and NVIDIA's profiler.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "gpu_check/checks/judge.hpp"
#include "gpu_check/workers/ask.hpp"

namespace gpu {

/// Runs a framework's products under two settings and judges whether they ran in the expected format. Under the first
/// setting, the program requests FP32 and the shim's precision is `high`, so TF32 is expected. Under the second, the
/// program requests TF32 and the shim's floor is fp32, so FP32 is expected. If `expects_tf32` is false, FP32 is
/// expected under both. Each product runs twice, and the lower of its two formats counts. `framework` is the
/// framework's name as frameworks/products.py takes it. `title` is the name of the returned line. `evidence` receives
/// the observations.
VerdictLine check_framework(const char* framework, const char* title, const std::string& python,
                            const MeasurementSettings& settings, bool expects_tf32, nlohmann::json& evidence);

/// Runs PyTorch's products under its profiler, and judges the formats that the names of the kernels tell.
VerdictLine check_kernels(const std::string& python, const MeasurementSettings& settings, bool expects_tf32,
                          nlohmann::json& evidence);

/// Counts the tensor-core instructions of two runs by Nsight Compute (ncu), which reads the GPU's own counters. The
/// run under the precision `high` must have some, if `expects_tf32` is true. The run under a floor of fp32 must have
/// none, although its program asks for TF32 in every way. The check is not tried if `ncu` is not in PATH or is not
/// permitted to count.
VerdictLine check_counters(const MeasurementSettings& settings, bool expects_tf32, nlohmann::json& evidence);

}  // namespace gpu
