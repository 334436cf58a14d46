// The steps of one call to a CPU library: describe, decide, plan, run, record.
#pragma once

#include "shim/entry/gate.hpp"
#include "shim/entry/site.hpp"
#include "shim/settings/settings.hpp"

namespace fp32shim::blas {

/// Returns true if calls from this call site must pass through govern_call() instead of jumping to the BLAS library.
bool needs_gate(Site& site, const Settings& in_force);

/// Describes, decides, plans, runs and records a call. If `is_inner_call` is true, a library makes the call inside a
/// running product, and the call is neither changed nor recorded. `change_count` is the value of
/// settings_change_count() before `in_force` was read. A number that the call returns in vector registers is stored
/// in `frame`.
CallOutcome govern_call(Site& site, Frame& frame, const Settings& in_force, std::uint32_t change_count,
                        bool is_inner_call);

}  // namespace fp32shim::blas
