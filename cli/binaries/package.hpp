// Which wheel a file came in.
#pragma once

#include <string>

namespace fp32shim::cli {

/// `nvidia_cublas 13.4.1.3` for a file below site-packages that a wheel's RECORD lists; else empty.
std::string package_of(const std::string& path);

}  // namespace fp32shim::cli
