// An error or warning about a setting.
#pragma once

#include <string>

namespace fp32shim::policy {

/// Message about a position in a file, or about an environment variable.
struct Diagnostic {
    std::string where;    ///< `prod.toml:12:5`, or `FP32_MATMUL_PRECISION`
    std::string message;  ///< one line: the value found, the values allowed, the nearest known name

    /// Returns `where: message` on one line.
    std::string text() const { return where + ": " + message; }
};

}  // namespace fp32shim::policy
