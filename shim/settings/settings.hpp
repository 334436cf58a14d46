// Manages the settings in force in this process: the policy, the log, and changes made through the C API. The
// settings are read once, at the first intercepted call.
#pragma once

#include <atomic>
#include <cstdint>

#include "policy/decide.hpp"
#include "policy/policy.hpp"
#include "record/lines/decision_log.hpp"
#include "record/process_facts.hpp"
#include "record/write/writer.hpp"
#include "shim/settings/derived_settings.hpp"

namespace fp32shim {

/// The result of reading the environment and the policy files once. Immutable. A reload makes a new object and keeps
/// the old one, because running calls may still use it.
struct Settings : DerivedSettings {
    std::uint32_t generation = 1;  ///< serial number of this reading, counted from 1
    policy::Policy policy;
    policy::ProcessDescription process;      ///< refers to texts in `facts`
    record::ProcessFacts facts;              ///< unset if there is neither a rule nor a log
    record::StartEvent start;                ///< the first line of a log or recording; unset if nothing is logged
    record::DecisionLog* log = nullptr;      ///< the log of JSON lines; nullptr if there is none
    record::Recording* recording = nullptr;  ///< the recording of calls; nullptr if there is none
    bool log_to_stderr = false;

    /// Returns true as long as results are searched for the first NaN or infinity.
    bool searches_for_nonfinite() const;
    /// Returns true if results are examined after a product has run.
    bool examines_results() const { return audits || fingerprints || searches_for_nonfinite(); }
    /// Returns true if calls from one call site get different rows of the recording if they were reached by
    /// different lines of Python or native callers.
    bool distinguishes_call_paths() const { return reads_python_lines || native_frames != 0; }
    bool is_logging() const { return log != nullptr || log_to_stderr || recording != nullptr; }
};

/// Bits (record::pin_…) of variables that `run --pin` has set, to make other libraries use full precision, but that
/// were found to have no effect in this process.
extern constinit std::atomic<std::uint16_t> pins_without_effect;

/// Returns the settings in force. Reads them at the first call, on a stack of its own.
const Settings& settings();

extern constinit std::atomic<const Settings*> settings_in_force;

/// Returns the settings in force, or nullptr if they have not been read yet.
inline const Settings* known_settings() { return settings_in_force.load(std::memory_order_acquire); }

/// Returns the recording that this process made, or nullptr. A forked child does not get its parent's recording.
record::Recording* own_recording();

extern constinit std::atomic<std::uint32_t> settings_changes;

/// Returns the number of changes of settings and scopes so far. If the number has changed since a call site stored a
/// decision for its later calls, the decision is out of date.
inline std::uint32_t settings_change_count() { return settings_changes.load(std::memory_order_acquire); }

/// Counts a change of something on which decisions depend. The decisions and plans that call sites keep become
/// invalid.
void settings_changed();

/// Makes each later call of settings_changed() call `renew`. Only the first call of call_when_settings_change() has
/// an effect.
void call_when_settings_change(void (*renew)());

extern constinit std::atomic<bool> nonfinite_is_found;
inline bool Settings::searches_for_nonfinite() const {
    return finds_nonfinite && !nonfinite_is_found.load(std::memory_order_relaxed);
}
/// Ends the search for the first NaN or infinity, in this process and in children that it forks later. Returns false
/// if the search had already ended. Thread-safe.
bool end_nonfinite_search();

/// Returns true once, for the first product that receives NaN or infinity in this process and in children that it
/// forks later. Thread-safe.
bool is_first_to_receive_nonfinite();

/// Reads the policy files again, with the environment as it was at the first reading. If the files have errors,
/// changes nothing, prints one line on stderr and returns false.
bool reload_settings();
/// From now on, records nothing and examines no result, until a reload reads other settings. If the shim computes
/// products itself, they still run under the policy, because the BLAS library may never have been called. Otherwise
/// all products are forwarded unchanged.
void stop_recording();
record::PolicyFacts policy_facts(const policy::Policy& policy);

/// Sets the precision of the process (C API, `fp32shim set`). If `precision` is empty, the environment and the policy
/// file decide again. Returns true if the precision of the process changed.
bool set_process_precision(std::optional<policy::Precision> precision);
std::optional<policy::Precision> process_precision();
/// Raises the floor of the process, which is the lowest precision that may run. Never lowers the floor. Returns true
/// if the floor changed.
bool raise_process_floor(policy::Floor floor);
policy::Floor process_floor();

/// The kinds of scopes that threads of this process have opened so far.
enum class ScopesSeen : std::uint8_t { none, labels, precisions };
extern constinit std::atomic<ScopesSeen> scopes_seen;

/// Notes that a thread opens a scope of this kind. The kind is `precisions` if the scope names a precision or a
/// floor.
void note_opened_scope(ScopesSeen kind);
inline bool scopes_in_use() { return scopes_seen.load(std::memory_order_acquire) != ScopesSeen::none; }
inline bool scopes_set_precisions() { return scopes_seen.load(std::memory_order_acquire) == ScopesSeen::precisions; }

/// Returns true if decisions may depend on the scope of a call. Then a call site must not keep one decision for all
/// its calls. A scope with only a label does not count if no rule depends on labels, because it only labels rows of
/// the recording.
inline bool scopes_affect_decisions(const Settings& in_force) {
    return scopes_set_precisions() || (in_force.looks_at_scopes && scopes_in_use());
}

/// Carries out a waiting command of `fp32shim set` or `reload`, which reaches this process through its recording. Is
/// called before the settings for a call are read.
void carry_out_command(record::Recording& recording);
inline void carry_out_waiting_command() {
    record::Recording* recording = settings().recording;
    if (recording != nullptr && recording->has_command()) carry_out_command(*recording);
}

}  // namespace fp32shim
