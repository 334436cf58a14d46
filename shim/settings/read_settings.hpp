// Reads the environment and the policy files, and opens the log that they name.
#pragma once

#include <string_view>

#include "shim/settings/settings.hpp"

namespace fp32shim {

/// Reads the settings, on a stack of its own. `previous` is nullptr for the first reading; for a reload, it is the
/// settings in force. Returns nullptr if the settings could not be read, or if a reload found errors; one line on
/// stderr gives the reason. Only one thread at a time may call this, with cancellation disabled. May change errno.
Settings* read_settings(const Settings* previous);

/// Returns the value that one of the shim's variables had when the process started; empty if it was not set. Does not
/// read the settings.
std::string_view value_at_start(std::string_view name);

/// Returns true if the environment that the process started with sets this variable of the shim, such as
/// FP32_MATMUL_KERNELS, to anything but 0, or names a policy. May be called while the loader relocates this library.
bool may_be_set_at_start(std::string_view variable);

/// Returns the settings in force if they are known, or reads them if may_be_set_at_start(variable). Otherwise returns
/// nullptr and reads nothing, since a sandbox may kill a process for opening files.
const Settings* settings_if_wanted(std::string_view variable);

/// Returns true if the settings were read, and the program had changed where the log is to be, or had switched the
/// shim off, since it started. Async-signal-safe.
bool has_changed_log();

/// Sets the function that returns the facts by which a new recording is listed (RecordingSettings::process_family).
/// Called by the code that watches children, while the library is loaded.
void set_process_family_function(record::FamilyFacts (*source)());

}  // namespace fp32shim
