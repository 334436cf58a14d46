// The FP32_MATMUL_* variables.
#pragma once

#include <optional>
#include <string>

#include "policy/load.hpp"
#include "policy/settings.hpp"

namespace fp32shim::policy {

/// What the variables say; a broken one is reported and left out.
struct FromEnvironment {
    Settings settings;
    std::string policy_path;  ///< empty when unset
    std::optional<OnError> on_error;
    bool floor_is_broken = false;  ///< a floor was asked for, but which one cannot be told
    bool disabled = false;
};

FromEnvironment read_environment(const Environment& environment, std::vector<Diagnostic>& errors,
                                 std::vector<Diagnostic>& warnings);

}  // namespace fp32shim::policy
