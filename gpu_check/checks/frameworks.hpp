// Runs unmodified products of PyTorch, CuPy and JAX under the library, and examines the kernels that ran.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "gpu_check/checks/judge.hpp"
#include "gpu_check/workers/ask.hpp"

namespace gpu {

/// Runs a framework's products twice: at `high`, where the program asks for FP32, and under a floor of fp32, where it
/// asks for TF32. Each product runs once before it is judged, to warm up processor and device. evidence: receives the
/// observations.
/// framework: its name for frameworks/products.py. title: the name of the line.
Line check_framework(const char* framework, const char* title, const std::string& python, const Asking& asking,
                     bool expects_tf32, nlohmann::json& evidence);

/// Runs PyTorch's products under its profiler, and judges the names of the kernels.
Line check_kernels(const std::string& python, const Asking& asking, bool expects_tf32, nlohmann::json& evidence);

}  // namespace gpu
