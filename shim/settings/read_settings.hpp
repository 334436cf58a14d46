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
std::string_view start_variable(std::string_view name);

/// Returns false if the environment that the process started with neither sets one of the shim's variables, such as
/// FP32_MATMUL_KERNELS, nor names a policy. May be called while the loader relocates this library.
bool may_ask_at_start(std::string_view variable);

/// Returns the settings in force if they are known. If not, reads them where one of the shim's variables, such as
/// FP32_MATMUL_ONEDNN, or a policy may ask for something. Returns nullptr otherwise: a sandbox may kill a process for
/// opening files.
const Settings* settings_if_wanted(std::string_view variable);

/// Returns true if the settings were read, and the program had changed where the log is to be, or had switched the
/// shim off, since it started. Async-signal-safe.
bool has_changed_log();

/// Sets the function that returns the facts by which a new recording is listed (RecordingSettings::family). Called by
/// code that watches children, as the library is loaded.
void set_family_source(record::Family (*source)());

}  // namespace fp32shim
