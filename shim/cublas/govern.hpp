// The way of one cuBLAS call: describe, decide and plan, run, record. That of cublasLt is in lt.cpp.
#pragma once

#include "shim/entry/gate.hpp"
#include "shim/settings/settings.hpp"
#include "shim/site.hpp"

namespace fp32shim::cublas {

/// Completes a new site of a cuBLAS function. Precondition: it has a provider, and a Reading is held.
void bind(Site& site);
bool needs_gate(const Site& site, const Settings& in_force);

/// Governs a call. `change_count`: settings_change_count() from before the settings were looked at.
CallOutcome govern(Site& site, const Frame& frame, const Settings& in_force, std::uint32_t change_count);

}  // namespace fp32shim::cublas
