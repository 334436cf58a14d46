// JAX's compilation cache, by policy. Compiled programs contain choices that depend on our settings: which kernel was
// the fastest, and the place of its algorithm in cublasLt's list. JAX's key of the cache does not contain these
// settings.
#pragma once

#include <string>

#include "policy/policy.hpp"

namespace fp32shim::cli {

/// The variable that names the cache's folder.
inline constexpr std::string_view cache_variable = "JAX_COMPILATION_CACHE_DIR";

/// Returns the folder to use under these settings: one within `folder`, the same for settings that do the same, or
/// `folder` itself where nothing is raised or lowered. If this function made `folder`, the result replaces it and is
/// not nested. `pins`: of record::ProcessFacts.
std::string cache_folder_for(const policy::Policy& policy, std::uint16_t pins, std::string folder);

}  // namespace fp32shim::cli
