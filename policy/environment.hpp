// Reads the FP32_MATMUL_* variables.
#pragma once

#include <optional>
#include <string>

#include "policy/load.hpp"
#include "policy/settings.hpp"

namespace fp32shim::policy {

/// Settings from the FP32_MATMUL_* variables. A variable with a wrong value is reported, and its setting stays unset.
struct FromEnvironment {
    SettingsLayer settings;
    std::string policy_path;  ///< value of FP32_MATMUL_POLICY; empty when unset
    std::optional<OnError> on_error;
    bool floor_is_broken = false;  ///< FP32_MATMUL_FLOOR has an unknown value
    bool disabled = false;
};

FromEnvironment read_environment(const Environment& environment, std::vector<Diagnostic>& errors,
                                 std::vector<Diagnostic>& warnings);

}  // namespace fp32shim::policy
