// Sets environment variables for the program that `fp32shim run` starts: the variables of NVTX, of Python, of JAX's
// compilation cache and of `run --reproducible`.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cli/run/process_environment.hpp"
#include "policy/policy.hpp"

namespace fp32shim::cli {

/// The variable that names the library which receives a program's NVTX ranges.
inline constexpr std::string_view nvtx_variable = "NVTX_INJECTION64_PATH";

/// Returns true if a policy needs NVTX ranges, either for its setting `where` or for its rules.
inline bool wants_nvtx_ranges(const policy::Policy& policy) {
    return !policy.disabled && policy.wants(policy::LocationSource::nvtx);
}

/// Makes the shim's library the receiver of NVTX ranges if the policy needs ranges. If nvtx_variable already names
/// another library, such as a profiler's, leaves the variable alone. Returns a warning if rules by scope therefore
/// miss the ranges; otherwise an empty text.
std::string set_nvtx_receiver(const policy::Policy& policy, const std::string& library,
                              ProcessEnvironment& environment);

/// Puts the folder of fp32shim's start-up file for Python first on PYTHONPATH, if the policy needs PyTorch modules or
/// products of JAX, which its setting for oneDNN asks for too. If the policy needs modules, also adds `torch` to
/// FP32_MATMUL_WHERE, which the start-up file reads. Returns the reason if the file could not be used; otherwise an
/// empty text.
std::string add_python_startup_file(const policy::Policy& policy, ProcessEnvironment& environment);

/// The variable that names the folder of JAX's compilation cache.
inline constexpr std::string_view cache_variable = "JAX_COMPILATION_CACHE_DIR";

/// Returns the folder for JAX's compilation cache. If the policy changes no product, it is `folder` itself; otherwise
/// a folder inside `folder`, which is shared by all settings that change products on a GPU in the same way. Compiled
/// programs contain choices that depend on the settings (the fastest kernel, the index of its algorithm in cublasLt's
/// list), and JAX's cache key does not contain the settings. If an earlier call returned `folder`, the part that it
/// added is replaced. `pins` has the bits of ProcessFacts::pins.
std::string jax_cache_folder(const policy::Policy& policy, std::uint16_t pins, std::string folder);

/// Sets the variables of `run --reproducible`, except those that are already set in `environment`. Returns lines for
/// the user that say which variables were set and which were left alone.
std::vector<std::string> set_reproducible_variables(ProcessEnvironment& environment);

}  // namespace fp32shim::cli
