// Reading the environment and the policy files, and opening the log that they ask for.
#pragma once

#include <string_view>

#include "shim/settings/settings.hpp"

namespace fp32shim {

/// Reads the settings on a stack of its own. `previous`: the settings in force, for a reload; nullptr for the first
/// reading. Returns nullptr if the settings could not be read, or if a reload found errors; one line on stderr says
/// why. To be called by one thread at a time, with cancellation off. errno may change.
Settings* read_settings(const Settings* previous);

/// Returns the value of a variable of the shim's that the process was started with; empty: it had none. Reads no
/// settings.
std::string_view start_variable(std::string_view name);

}  // namespace fp32shim
