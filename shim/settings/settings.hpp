// What is in force in this process: the policy, the log, and what the C API changed since.
// Read once, at the first intercepted call; a process that makes none never comes here.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "policy/decide.hpp"
#include "policy/policy.hpp"
#include "record/lines/decision_log.hpp"
#include "record/process_facts.hpp"
#include "record/write/writer.hpp"

namespace fp32shim {

/// One reading of environment and policy files. Immutable; a reload makes another and keeps the old one, which
/// calls in flight may still read.
struct Settings {
    std::uint32_t generation = 1;  ///< how many readings there were
    std::uint8_t id = 1;           ///< the same in fewer bits: differs from that of the settings before; never 0
    policy::Policy policy;
    policy::Process process;             ///< views of `facts`
    record::ProcessFacts facts;          ///< unset where there is neither a rule nor a log
    record::StartEvent start;            ///< what a recording says of these settings; unset where nothing is logged
    record::DecisionLog* log = nullptr;  ///< nullptr: no JSON lines
    record::Recording* recording = nullptr;  ///< nullptr: none
    bool log_to_stderr = false;
    bool log_every_call = false;
    bool forward_everything = false;  ///< FP32_MATMUL_DISABLE=1, or elevated rights
    bool looks_at_sizes = false;      ///< some rule looks at the sizes of a call

    bool logs() const { return log != nullptr || log_to_stderr || recording != nullptr; }
};

/// The settings in force. Reads them on first use, on a stack of its own.
const Settings& settings();

extern constinit std::atomic<const Settings*> settings_in_force;

/// The settings in force, where somebody has read them.
inline const Settings* known_settings() { return settings_in_force.load(std::memory_order_acquire); }

/// Returns this process's recording if it has made one; a forked child's is not its parent's.
record::Recording* own_recording();

extern constinit std::atomic<std::uint32_t> settings_changes;

/// Counts changes of settings, overrides and scopes: whoever works on old ones can see it.
inline std::uint32_t settings_change_count() { return settings_changes.load(std::memory_order_acquire); }

/// Counts a change of what decisions depend on, so that nothing that was kept before holds any more.
void settings_changed();

/// Makes settings_changed() call `renew` from now on. Call sites do, so that settings need not know of them.
void call_when_settings_change(void (*renew)());

/// Counts changes of the process-wide settings of the C API.
std::uint8_t process_override_count();

/// Reads the policy files anew, with the environment as it was first read. Returns false, and changes nothing, where
/// they are wrong (one line on stderr says what).
bool reload_settings();

/// What a recording notes of a policy that was read again.
record::PolicyFacts policy_facts(const policy::Policy& policy);

/// Process-wide settings of the C API; they return whether that changes anything. An absent precision: back to
/// environment and file.
bool set_process_precision(std::optional<policy::Precision> precision);
std::optional<policy::Precision> process_precision();
/// Floors only rise.
bool raise_process_floor(policy::Floor floor);
policy::Floor process_floor();

/// From now on a thread may have scopes, so that no call may be judged by its site alone.
void note_scopes_in_use();
bool scopes_in_use();

}  // namespace fp32shim
