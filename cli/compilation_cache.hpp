// JAX's compilation cache: what XLA compiles keeps choices that depend on the settings (which kernel was the fastest,
// and which place its algorithm had in cublasLt's list), and JAX's own key of it knows nothing of ours.
#pragma once

#include <string>

#include "cli/process_environment.hpp"
#include "policy/policy.hpp"

namespace fp32shim::cli {

/// The variable that names the cache's folder.
inline constexpr std::string_view cache_variable = "JAX_COMPILATION_CACHE_DIR";

/// The folder to use under these settings, one in `folder`, the same for settings that do the same; `folder` itself
/// where nothing is raised or lowered. One that was given before, by this function, counts as the folder that it is
/// in. `pins`: of record::ProcessFacts.
std::string cache_folder_for(const policy::Policy& policy, std::uint16_t pins, std::string folder);

}  // namespace fp32shim::cli
