// What is wrong with a setting: found, allowed, and what to do. Values, not exceptions.
#pragma once

#include <string>

namespace fp32shim::policy {

struct Diagnostic {
    std::string where;    ///< `prod.toml:12:5`, or `FP32_MATMUL_PRECISION`
    std::string message;  ///< one line: what was found, what is allowed, the nearest known name

    /// `where: message`, on one line.
    std::string text() const { return where + ": " + message; }
};

}  // namespace fp32shim::policy
