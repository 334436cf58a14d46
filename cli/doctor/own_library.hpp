// Library that `fp32shim run` preloads: does it load here?
#pragma once

#include <optional>

#include "cli/doctor/finding.hpp"

namespace fp32shim::cli {

/// Returns a finding if the library is not there, or if the loader of this machine refuses it.
std::optional<Finding> judge_own_library();

}  // namespace fp32shim::cli
