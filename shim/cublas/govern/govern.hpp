// The steps of one cuBLAS call: describe, decide and plan, run, record. Those of cublasLt are in lt.cpp.
#pragma once

#include "shim/entry/gate.hpp"
#include "shim/entry/site.hpp"
#include "shim/settings/settings.hpp"

namespace fp32shim::cublas {

/// Fills in `site.cublas` of a new call site. Precondition: its provider is set, and an elf::Reading is held.
void bind(Site& site);
bool needs_gate(const Site& site, const Settings& in_force);

/// Plans, runs and records a call. `change_count`: settings_change_count() from before `in_force` was read.
CallOutcome govern(Site& site, const Frame& frame, const Settings& in_force, std::uint32_t change_count);

}  // namespace fp32shim::cublas
