// What a recorded process is set to now: what it began with, and what was changed since.
#pragma once

#include <optional>
#include <string>

#include "record/read/reader.hpp"

namespace fp32shim::cli {

/// What is absent is not known: a reload did not note it, or so much was changed later that the recording has only
/// the newest changes, and those do not say.
struct SettingsInForce {
    std::optional<policy::Precision> precision;  ///< of the whole process: rules and scopes go before it
    std::optional<policy::Floor> floor;
    std::optional<policy::CpuMode> cpu_mode;
    std::optional<std::string> policy_name;  ///< empty: it has none
};

SettingsInForce settings_in_force(const record::RecordingReader& recording);

}  // namespace fp32shim::cli
