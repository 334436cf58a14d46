// Reads the environment and the policy files, and opens the log that they name.
#pragma once

#include <string_view>

#include "shim/settings/settings.hpp"

namespace fp32shim {

/// Reads the settings on a stack of its own. `previous` is nullptr at the first reading; at a reload, it is the
/// settings in force. If the settings cannot be read, or if a reload finds errors, prints the reason on stderr and
/// returns nullptr. Only one thread at a time may call this function, with cancellation disabled. May change errno.
Settings* read_settings(const Settings* previous);

/// Returns the value that one of the shim's variables had when the process started; empty if it was not set. Does not
/// read the settings.
std::string_view value_at_start(std::string_view name);

/// Returns true if `variable`, such as FP32_MATMUL_KERNELS, had a value other than 0 when the process started, or if
/// the environment named a policy then. May be called while the loader relocates this library.
bool may_be_set_at_start(std::string_view variable);

/// Returns the settings in force. If they have not been read, reads them if may_be_set_at_start(variable) is true,
/// and otherwise returns nullptr, because a sandbox may kill a process for opening files.
const Settings* settings_if_wanted(std::string_view variable);

/// Returns true if the program changed the name of the log, or switched off the shim, between its start and the
/// moment when the settings were read. Returns false if they have not been read. Async-signal-safe.
bool has_changed_log();

/// Sets the function RecordingSettings::process_family, by whose result a new recording finds the recording that has
/// to list it. A constructor in children/ calls set_process_family_function() when this library is loaded.
void set_process_family_function(record::FamilyFacts (*source)());

}  // namespace fp32shim
