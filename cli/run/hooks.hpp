// The variables by which programs' copies of NVTX and ITT find the library that wants their ranges.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/run/process_environment.hpp"
#include "policy/policy.hpp"

namespace fp32shim::cli {

/// A kind of ranges, by the source of `where` that asks for it.
struct RangeHook {
    policy::Where source;
    std::string_view variable;
    std::string_view name;
};

inline constexpr RangeHook range_hooks[] = {{policy::Where::nvtx, "NVTX_INJECTION64_PATH", "NVTX"},
                                            {policy::Where::itt, "INTEL_LIBITTNOTIFY64", "ITT"}};

/// Returns the hooks for the kinds of ranges that a policy asks for, by `where` or by rules.
std::vector<RangeHook> wanted_range_hooks(const policy::Policy& policy);

/// Names the shim's library to the program's copies of NVTX and ITT, where the policy asks for their ranges. A
/// variable that names another library, a profiler's say, stays; returns a line about it if rules ask for scopes.
std::string hook_ranges(const policy::Policy& policy, const std::string& library, ProcessEnvironment& environment);

/// Puts the folder of the start-up file first on PYTHONPATH, if the policy asks for modules of PyTorch, by `where` or
/// by rules. Sets FP32_MATMUL_WHERE, which is all that the file reads. Returns one line with the reason if that
/// cannot be done; empty: none.
std::string add_python_start_up(const policy::Policy& policy, ProcessEnvironment& environment);

}  // namespace fp32shim::cli
