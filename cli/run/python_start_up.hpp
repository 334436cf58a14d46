// Start-up file of Python programs, which makes module paths of PyTorch scopes: python/site-packages/.
#pragma once

#include <string>

#include "cli/run/process_environment.hpp"

namespace fp32shim::cli {

/// Puts the folder of the start-up file first on PYTHONPATH, if FP32_MATMUL_WHERE has `torch` or `auto` in it.
/// Returns one line with the reason if that cannot be done; empty: none.
std::string add_python_start_up(ProcessEnvironment& environment);

}  // namespace fp32shim::cli
