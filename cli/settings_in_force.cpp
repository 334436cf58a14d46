#include "cli/settings_in_force.hpp"

#include <algorithm>

namespace fp32shim::cli {

SettingsInForce settings_in_force(const record::RecordingFacts& facts,
                                  const std::vector<record::RecordedChange>& changes) {
    using record::format::ChangeKind;
    SettingsInForce now{facts.start.default_precision, facts.start.floor, facts.start.cpu_mode,
                        facts.start.policy_name};
    // A reload changes what environment and files say; what was asked of the process itself stays.
    std::optional<policy::Precision> of_process;
    policy::Floor floor_of_process = policy::Floor::none;
    for (const record::RecordedChange& change : changes) {
        if (!change.was_done) continue;
        switch (change.kind) {
            case ChangeKind::set_precision:
                of_process = change.precision;
                break;
            case ChangeKind::set_floor:
                floor_of_process = std::max(floor_of_process, change.floor);
                break;
            case ChangeKind::reload:
                now = {{}, {}, {}, change.policy_name};
                if (change.settings) {
                    now.precision = change.settings->default_precision;
                    now.floor = change.settings->floor;
                    now.cpu_mode = change.settings->cpu_mode;
                }
                break;
            case ChangeKind::none:
                break;
        }
    }
    if (of_process) now.precision = of_process;
    if (now.floor)
        now.floor = std::max(*now.floor, floor_of_process);
    else if (floor_of_process == policy::Floor::fp32)
        now.floor = floor_of_process;  // there is none above it
    return now;
}

}  // namespace fp32shim::cli
