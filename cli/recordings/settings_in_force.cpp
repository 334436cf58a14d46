#include "cli/recordings/settings_in_force.hpp"

#include <algorithm>

namespace fp32shim::cli {
namespace {

/// The precision and the floor that were set while the process ran, by `fp32shim set` or the C API. A reload of the
/// policy does not change them.
struct RequestedSettings {
    /// Absent if no precision was set while the process ran, so that its environment and files decide.
    std::optional<policy::Precision> precision;
    policy::Floor floor = policy::Floor::none;  ///< the floor that was set, which can only be raised
    bool is_precision_known = true, is_floor_known = true;
};

}  // namespace

SettingsInForce settings_in_force(const record::RecordingReader& recording) {
    using record::format::SettingsChangeKind;
    const record::StartEvent& start = recording.facts().start;
    SettingsInForce now{start.default_precision, start.floor,         start.cpu_mode,        start.policy_name,
                        start.policy_revision,   start.policy_sha256, start.floor_exception, start.allow_bf16x9};
    RequestedSettings asked;
    if (recording.lost_changes() != 0) {
        now = {};
        asked.is_precision_known = asked.is_floor_known = false;
    }
    for (const record::RecordedSettingsChange& change : recording.changes()) {
        if (!change.was_done) continue;
        switch (change.kind) {
            case SettingsChangeKind::set_precision:
                asked.precision = change.precision;
                asked.is_precision_known = true;
                break;
            case SettingsChangeKind::set_floor:
                asked.floor = std::max(asked.floor, change.floor);
                // Only changes that raise the floor are recorded, so this floor is above the floors of all changes
                // that were lost.
                asked.is_floor_known = true;
                break;
            case SettingsChangeKind::reload:
                now = {{},
                       {},
                       {},
                       change.policy_name,
                       change.policy_revision,
                       change.policy_sha256,
                       change.floor_exception};
                if (change.settings) {
                    now.precision = change.settings->default_precision;
                    now.floor = change.settings->floor;
                    now.cpu_mode = change.settings->cpu_mode;
                    now.allow_bf16x9 = change.settings->allow_bf16x9;
                }
                break;
            case SettingsChangeKind::none:
                break;
        }
    }
    if (!asked.is_precision_known)
        now.precision.reset();
    else if (asked.precision)
        now.precision = asked.precision;
    const policy::Floor least = std::max(asked.floor, now.floor.value_or(policy::Floor::none));
    if (least == policy::Floor::fp32 || (asked.is_floor_known && now.floor))
        now.floor = least;  // fp32 is the highest floor that can be set, so no unknown floor exceeds it
    else
        now.floor.reset();
    return now;
}

}  // namespace fp32shim::cli
