// Current settings of a recorded process: those that it began with, and the changes since.
#pragma once

#include <optional>
#include <string>

#include "record/read/reader.hpp"

namespace fp32shim::cli {

/// Settings of a process. An absent setting is not known: a reload did not record it, or newer changes have displaced
/// the record of its last change.
struct SettingsInForce {
    std::optional<policy::Precision> precision;  ///< default precision; rules and scopes come before it
    std::optional<policy::Floor> floor;
    std::optional<policy::CpuMode> cpu_mode;
    std::optional<std::string> policy_name;      ///< empty: no policy, or one without a name
    std::string policy_revision, policy_sha256;  ///< of the policy; empty where policy_name is absent
};

/// Derives the current settings from the start event and the changes in a recording.
SettingsInForce settings_in_force(const record::RecordingReader& recording);

}  // namespace fp32shim::cli
