// JAX's compilation cache, by policy. Compiled programs contain choices that depend on our settings: which kernel was
// the fastest, and the index of its algorithm in cublasLt's list. JAX's key of the cache does not contain these
// settings.
#pragma once

#include <string>

#include "policy/policy.hpp"

namespace fp32shim::cli {

/// Environment variable that names the folder of JAX's compilation cache.
inline constexpr std::string_view cache_variable = "JAX_COMPILATION_CACHE_DIR";

/// Returns the folder to use for JAX's compilation cache: a folder in `folder`, the same for settings of the same
/// effect, or `folder` itself if the policy changes no product. A `folder` that this function returned before is
/// replaced, not nested. `pins`: ProcessFacts::pins.
std::string cache_folder_for(const policy::Policy& policy, std::uint16_t pins, std::string folder);

}  // namespace fp32shim::cli
