// What a recorded process is set to now: what it began with, and what was changed since.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "record/recording_reader.hpp"

namespace fp32shim::cli {

/// What is absent was changed by a reload that did not note it.
struct SettingsInForce {
    std::optional<policy::Precision> precision;  ///< of the whole process: rules and scopes go before it
    std::optional<policy::Floor> floor;
    std::optional<policy::CpuMode> cpu_mode;
    std::string policy_name;  ///< empty: it has none
};

SettingsInForce settings_in_force(const record::RecordingFacts& facts,
                                  const std::vector<record::RecordedChange>& changes);

}  // namespace fp32shim::cli
