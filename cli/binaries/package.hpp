// Finds the Python package of a file.
#pragma once

#include <string>

namespace fp32shim::cli {

/// Returns the Python package, `nvidia_cublas 13.4.1.3`, of a file that a wheel's RECORD lists; otherwise empty.
std::string package_of(const std::string& path);

}  // namespace fp32shim::cli
