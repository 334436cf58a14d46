// PyTorch, CuPy and JAX: unmodified products of each under the library, and the kernels that ran.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "gpu_check/checks/line.hpp"
#include "gpu_check/workers/ask.hpp"

namespace gpu {

struct Framework {
    const char* name;  ///< as frameworks/products.py takes it
    const char* title;
};
inline constexpr Framework torch{"torch", "PyTorch"};
inline constexpr Framework cupy{"cupy", "CuPy"};
inline constexpr Framework jax{"jax", "JAX"};

/// Runs its products at `high`, where the program asks for FP32, and under a floor of fp32, where it asks for TF32.
/// Processor and device are warm then: each product ran once before it is judged. evidence: gets what was seen.
Line check_framework(const Framework& framework, const std::string& python, const Asking& asking, bool expects_tf32,
                     nlohmann::json& evidence);

/// Runs PyTorch's products under its profiler, and judges the names of the kernels.
Line check_kernels(const std::string& python, const Asking& asking, bool expects_tf32, nlohmann::json& evidence);

}  // namespace gpu
