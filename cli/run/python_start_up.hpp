// Start-up file of Python programs, which makes module paths of PyTorch scopes: python/site-packages/.
#pragma once

#include <string>

#include "cli/run/process_environment.hpp"
#include "policy/policy.hpp"

namespace fp32shim::cli {

/// Puts the folder of the start-up file first on PYTHONPATH, if the policy asks for modules of PyTorch, by `where` or
/// by rules. Sets FP32_MATMUL_WHERE, which is all that the file reads. Returns one line with the reason if that
/// cannot be done; empty: none.
std::string add_python_start_up(const policy::Policy& policy, ProcessEnvironment& environment);

}  // namespace fp32shim::cli
