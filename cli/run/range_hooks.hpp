// The variables by which programs' copies of NVTX and ITT find the library that wants their ranges.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/run/process_environment.hpp"

namespace fp32shim::cli {

/// Kinds of ranges, by the word of FP32_MATMUL_WHERE that asks for them.
struct RangeHook {
    std::string_view word;
    std::string_view variable;
    std::string_view name;
};

inline constexpr RangeHook range_hooks[] = {{"nvtx", "NVTX_INJECTION64_PATH", "NVTX"},
                                            {"itt", "INTEL_LIBITTNOTIFY64", "ITT"}};

/// Returns the hooks that FP32_MATMUL_WHERE asks for.
std::vector<RangeHook> wanted_range_hooks(const ProcessEnvironment& environment);

/// Names the shim's library to the program's copies of NVTX and ITT, where FP32_MATMUL_WHERE asks for their ranges. A
/// variable that names another library, a profiler's say, stays.
void hook_ranges(ProcessEnvironment& environment, const std::string& library);

}  // namespace fp32shim::cli
