// Decides the precision of a call by policy::decide(), to which it passes the settings of this process and thread.
#pragma once

#include "policy/decide.hpp"
#include "shim/entry/site.hpp"
#include "shim/settings/settings.hpp"

namespace fp32shim {

/// Decides the precision of a call, and sets call.scope to the thread's scope. If rules that may match depend on
/// sizes or locations, the thread keeps the decision for later equal calls. Thread-safe.
policy::Decision decide_call(Site& site, const Settings& in_force, policy::MatmulCall& call);

/// Returns the strictest floor (lowest precision that may run) that applies to this thread. Files, the environment,
/// the C API and scopes can set floors.
policy::Floor floor_in_force(const Settings& in_force);

}  // namespace fp32shim
