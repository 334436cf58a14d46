// The settings in force in this process: policy, log, and changes made through the C API. They are read once, at the
// first intercepted call.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "policy/decide.hpp"
#include "policy/policy.hpp"
#include "record/lines/decision_log.hpp"
#include "record/process_facts.hpp"
#include "record/write/writer.hpp"
#include "shim/settings/derived_settings.hpp"

namespace fp32shim {

/// The result of reading environment and policy files once. Immutable. A reload makes a new object and keeps this
/// one, since running calls may still use it.
struct Settings : DerivedSettings {
    std::uint32_t generation = 1;  ///< serial number of this reading, from 1
    policy::Policy policy;
    policy::ProcessDescription process;      ///< refers to texts in `facts`
    record::ProcessFacts facts;              ///< unset if there is neither a rule nor a log
    record::StartEvent start;                ///< the start line of a log or recording; unset if nothing is logged
    record::DecisionLog* log = nullptr;      ///< the log of JSON lines; nullptr: none
    record::Recording* recording = nullptr;  ///< nullptr: calls are not recorded
    bool log_to_stderr = false;

    /// Returns true while results are searched for the first NaN or infinity.
    bool searches_for_nonfinite() const;
    /// Returns true if results are examined after a product has run.
    bool examines_results() const { return audits || fingerprints || searches_for_nonfinite(); }
    /// Returns true if calls get different rows when different callers lead to them.
    bool distinguishes_call_paths() const { return reads_python_lines || native_frames != 0; }
    bool is_logging() const { return log != nullptr || log_to_stderr || recording != nullptr; }
};

/// Variables of `run --pin` (bits pin_…) that are set, and were found to have no effect in this process.
extern constinit std::atomic<std::uint16_t> pins_without_effect;

/// Returns the settings in force. Reads them at the first call, on a stack of its own.
const Settings& settings();

extern constinit std::atomic<const Settings*> settings_in_force;

/// Returns the settings in force, or nullptr if they have not been read yet.
inline const Settings* known_settings() { return settings_in_force.load(std::memory_order_acquire); }

/// Returns the recording that this process made, or nullptr. A forked child does not get its parent's recording.
record::Recording* own_recording();

extern constinit std::atomic<std::uint32_t> settings_changes;

/// Returns the number of changes of settings, overrides and scopes so far. A decision kept under another number is
/// out of date.
inline std::uint32_t settings_change_count() { return settings_changes.load(std::memory_order_acquire); }

/// Counts a change of something that decisions depend on. Kept decisions and plans become invalid.
void settings_changed();

/// Makes each later settings_changed() call `renew`. Only the first call of this function has an effect.
void call_when_settings_change(void (*renew)());

extern constinit std::atomic<bool> nonfinite_is_found;
inline bool Settings::searches_for_nonfinite() const {
    return finds_nonfinite && !nonfinite_is_found.load(std::memory_order_relaxed);
}
/// Ends the search for the first NaN or infinity, in this process and in children that it forks later. Returns false
/// if the search had ended already. Thread-safe.
bool end_nonfinite_search();

/// Returns true for the first product of this process, and of children that it forks later, that received NaN or
/// infinity. Thread-safe.
bool is_first_to_receive_nonfinite();

/// Reads the policy files again, with the environment as it was at the first reading. If they have errors, changes
/// nothing, prints one line on stderr and returns false.
bool reload_settings();
/// Records nothing from now on, and examines no result, until a reload reads other settings. If the shim computes
/// products itself, they still run under the policy, since their library may never have been called. Otherwise, all
/// are forwarded unchanged.
void stop_recording();
record::PolicyFacts policy_facts(const policy::Policy& policy);

/// Sets the precision of the process (C API, `fp32shim set`). Without a value, the environment and the policy file
/// decide again. Returns true if the precision of the process changed.
bool set_process_precision(std::optional<policy::Precision> precision);
std::optional<policy::Precision> process_precision();
/// Raises the floor (lowest precision that may run) of the process. Never lowers it. Returns true if the floor
/// changed.
bool raise_process_floor(policy::Floor floor);
policy::Floor process_floor();

/// The kinds of scopes that threads of this process have opened so far.
enum class ScopesSeen : std::uint8_t { none, labels, precisions };
extern constinit std::atomic<ScopesSeen> scopes_seen;

/// Notes that a thread opens a scope of this kind: `precisions` if the scope names a precision or a floor.
void note_opened_scope(ScopesSeen kind);
inline bool scopes_in_use() { return scopes_seen.load(std::memory_order_acquire) != ScopesSeen::none; }
inline bool scopes_set_precisions() { return scopes_seen.load(std::memory_order_acquire) == ScopesSeen::precisions; }

/// Returns true if decisions may depend on the scope of a call. In that case, no decision is kept for all calls of a
/// site. If no rule asks for labels, a scope with only a label does not count: it labels rows of a recording.
inline bool scopes_affect_decisions(const Settings& in_force) {
    return scopes_set_precisions() || (in_force.looks_at_scopes && scopes_in_use());
}

/// Carries out a waiting command of `fp32shim set` or `reload`. Such commands reach this process through its
/// recording. Called before the settings for a call are read.
void carry_out_command(record::Recording& recording);
inline void carry_out_waiting_command() {
    record::Recording* recording = settings().recording;
    if (recording != nullptr && recording->has_command()) carry_out_command(*recording);
}

}  // namespace fp32shim
