// Handles a program's calls to the CUDA driver, by which the program loads code for a GPU, finds the kernels in it
// and launches them. The calls themselves are never changed. But a program that looks up the address of a driver
// function gets the address of the shim's entry point instead.
#pragma once

#include <cstdint>

#include "shim/entry/gate.hpp"
#include "shim/settings/settings.hpp"

namespace fp32shim::kernels {

/// Returns true if the code at the address `caller`, which looks up a function of the driver, has to get the shim's
/// entry point. Reads the settings if they may request that kernels be recorded.
bool intercepts_lookups_of(std::uintptr_t caller);

/// Passes a call on to the driver, notes what the call loaded or found, and records what it launched.
CallOutcome run_driver_call(const Site& site, const Frame& frame, const Settings& in_force);

}  // namespace fp32shim::kernels
