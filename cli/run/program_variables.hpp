// Environment variables that `fp32shim run` sets for its program beside those of fp32shim's own settings: those of
// NVTX, Python, JAX's compilation cache and `run --reproducible`.
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

/// Returns true if a policy needs NVTX ranges, because of `where` or of rules.
inline bool wants_nvtx_ranges(const policy::Policy& policy) {
    return !policy.disabled && policy.wants(policy::LocationSource::nvtx);
}

/// Makes the shim's library the receiver of NVTX ranges, if the policy needs them. If the variable already names
/// another library, such as a profiler's, it is left alone. Returns a warning if rules by scope therefore miss these
/// ranges; otherwise an empty text.
std::string set_nvtx_receiver(const policy::Policy& policy, const std::string& library,
                              ProcessEnvironment& environment);

/// Puts the folder of fp32shim's start-up file for Python first on PYTHONPATH, if the policy needs PyTorch modules or
/// products of JAX, which are recorded with those of oneDNN. If it needs modules, also sets FP32_MATMUL_WHERE, where
/// the start-up file reads this. Returns the reason if no start-up file can be set; otherwise an empty text.
std::string add_python_startup_file(const policy::Policy& policy, ProcessEnvironment& environment);

/// The variable that names the folder of JAX's compilation cache.
inline constexpr std::string_view cache_variable = "JAX_COMPILATION_CACHE_DIR";

/// Returns the folder for JAX's compilation cache: `folder` itself if the policy changes no product, otherwise a
/// folder inside it, which all settings share that change products on a GPU in the same way. Compiled programs
/// contain choices that depend on these settings (the fastest kernel, the index of its algorithm in cublasLt's list),
/// and JAX's cache key does not contain them. If `folder` was returned by this function before, it is replaced and
/// not nested. `pins` are those of ProcessFacts::pins.
std::string jax_cache_folder(const policy::Policy& policy, std::uint16_t pins, std::string folder);

/// Sets the variables of `run --reproducible`, except those that the environment has. Returns lines for the user that
/// say what was set and what was left alone.
std::vector<std::string> set_reproducible_variables(ProcessEnvironment& environment);

}  // namespace fp32shim::cli
