// Sets the variables by which NVTX and Python in programs find the shim's library and its start-up file.
#pragma once

#include <string>

#include "cli/run/process_environment.hpp"
#include "policy/policy.hpp"

namespace fp32shim::cli {

/// The variable that names the library which receives a program's NVTX ranges.
inline constexpr const char* nvtx_variable = "NVTX_INJECTION64_PATH";

/// Returns true if a policy needs NVTX ranges, because of `where` or of rules.
inline bool wants_nvtx_ranges(const policy::Policy& policy) {
    return !policy.disabled && policy.wants(policy::Where::nvtx);
}

/// Sets the variable that names the shim's library as the receiver of NVTX ranges, if the policy needs them. If the
/// variable names another library, such as a profiler's, it is not changed. Then, if rules ask for scopes, returns a
/// line that says so; otherwise an empty text.
std::string set_nvtx_receiver(const policy::Policy& policy, const std::string& library,
                              ProcessEnvironment& environment);

/// Puts the folder of fp32shim's start-up file first on PYTHONPATH, if the policy needs PyTorch modules because of
/// `where` or of rules, or products of JAX, which are recorded with those of oneDNN. Sets FP32_MATMUL_WHERE,
/// by which the file knows of the former. Returns one line with the reason if this is impossible;
/// otherwise an empty text.
std::string add_python_startup_file(const policy::Policy& policy, ProcessEnvironment& environment);

}  // namespace fp32shim::cli
