// Derives the current settings of a recorded process from its start and its later changes.
#pragma once

#include <optional>
#include <string>

#include "record/read/reader.hpp"

namespace fp32shim::cli {

/// The settings of a process. A setting is absent if it is unknown: a reload did not record it, or newer changes
/// displaced the record of its last change.
struct SettingsInForce {
    std::optional<policy::Precision> precision;  ///< default precision; rules and scopes override it
    std::optional<policy::Floor> floor;
    std::optional<policy::CpuMode> cpu_mode;
    std::optional<std::string> policy_name;      ///< empty: no policy, or a policy without a name
    std::string policy_revision, policy_sha256;  ///< facts of the policy; empty if policy_name is absent
    /// The names of the exceptions that lowered the policy's floor; empty: none did.
    std::string floor_exception{};
    bool allow_bf16x9 = false;
};

/// Derives the current settings from the start event and the changes in a recording.
SettingsInForce settings_in_force(const record::RecordingReader& recording);

}  // namespace fp32shim::cli
