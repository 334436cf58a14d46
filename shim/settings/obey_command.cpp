#include "shim/settings/obey_command.hpp"

namespace fp32shim {

void obey_command(record::Recording& recording) {
    record::RecordingChanges* const changes = recording.changes();
    if (changes == nullptr) return;
    const auto command = changes->take_command();
    if (!command) return;
    if (command->kind != record::format::CommandKind::reload) {
        set_process_precision(command->precision);
        changes->answer(*command, true, {});
        return;
    }
    constexpr const char* refused =
        "the policy has errors, which fp32shim check lists; the settings stay as they were";
    const bool is_done = reload_settings();
    changes->answer(*command, is_done, is_done ? "" : refused, policy_facts(settings().policy));
}

}  // namespace fp32shim
