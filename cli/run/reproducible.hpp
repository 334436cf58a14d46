// The variables of `run --reproducible`.
#pragma once

#include <string>
#include <vector>

#include "cli/run/process_environment.hpp"

namespace fp32shim::cli {

/// Sets the variables for --reproducible, except those that the environment has. Returns what to tell the user.
std::vector<std::string> set_reproducible_variables(ProcessEnvironment& environment);

}  // namespace fp32shim::cli
