// Calls of the CUDA driver, by which a program loads code for a GPU, finds the kernels in it and launches them. The
// calls themselves are never changed. Only lookups of driver functions get another answer: the shim's entry points.
#pragma once

#include <cstdint>

#include "shim/entry/gate.hpp"
#include "shim/settings/settings.hpp"

namespace fp32shim::kernels {

/// Returns true if code at this address that looks up a function of the driver has to get the shim's entry point.
/// Reads the settings if they may ask for kernels.
bool intercepts_lookups_of(std::uintptr_t caller);

/// Runs a call of the driver, notes what it loaded or found, and records what it launched.
CallOutcome run_driver_call(const Site& site, const Frame& frame, const Settings& in_force);

}  // namespace fp32shim::kernels
