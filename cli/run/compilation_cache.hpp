// Gives JAX a compilation cache for each policy. Compiled programs contain choices that depend on fp32shim's
// settings: which kernel was the fastest, and the index of its algorithm in cublasLt's list. JAX's cache key does not
// contain these settings.
#pragma once

#include <string>

#include "policy/policy.hpp"

namespace fp32shim::cli {

/// Environment variable that names the folder of JAX's compilation cache.
inline constexpr std::string_view cache_variable = "JAX_COMPILATION_CACHE_DIR";

/// Returns the folder for JAX's compilation cache. This is a folder in `folder`, the same for settings that
/// change products on a GPU alike; or `folder` itself if the policy changes no product. If `folder` was returned by
/// this function before, it is replaced and not nested. `pins` are those of ProcessFacts::pins.
std::string jax_cache_folder(const policy::Policy& policy, std::uint16_t pins, std::string folder);

}  // namespace fp32shim::cli
