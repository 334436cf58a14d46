// Sets the variables by which NVTX and ITT in programs find the library that receives their ranges.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/run/process_environment.hpp"
#include "policy/policy.hpp"

namespace fp32shim::cli {

/// A kind of ranges, with the source of `where` that requests it and the variable that names the receiving library.
struct RangeHook {
    policy::Where source;
    std::string_view variable;
    std::string_view name;
};

inline constexpr RangeHook range_hooks[] = {{policy::Where::nvtx, "NVTX_INJECTION64_PATH", "NVTX"},
                                            {policy::Where::itt, "INTEL_LIBITTNOTIFY64", "ITT"}};

/// Returns the hooks for the kinds of ranges that a policy needs, because of `where` or of rules.
std::vector<RangeHook> wanted_range_hooks(const policy::Policy& policy);

/// Sets the variables that name the shim's library as the receiver of NVTX and ITT ranges, if the policy needs these.
/// A variable that names another library, such as a profiler's, is not changed. Then, if rules ask for scopes,
/// returns a line that says so.
std::string hook_ranges(const policy::Policy& policy, const std::string& library, ProcessEnvironment& environment);

/// Puts the folder of fp32shim's start-up file first on PYTHONPATH, if the policy needs PyTorch modules because of
/// `where` or of rules. Sets FP32_MATMUL_WHERE, the only setting that the file reads. Returns one line with the
/// reason if this is impossible; otherwise an empty text.
std::string add_python_start_up(const policy::Policy& policy, ProcessEnvironment& environment);

}  // namespace fp32shim::cli
