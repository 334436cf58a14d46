// The second step of a call: the decision, made by policy::decide and by what this process and thread add to it.
#pragma once

#include "policy/decide.hpp"
#include "shim/settings/settings.hpp"
#include "shim/site.hpp"

namespace fp32shim {

/// Decides on a call of a site, and adds the thread's scope to the call. Where sizes matter and many rules are to be
/// tried, the thread keeps the decision. Thread-safe.
policy::Decision decide_call(Site& site, const Settings& in_force, policy::MatmulCall& call);

/// Returns the strictest floor in force for this thread: of file, environment, API and scopes.
policy::Floor floor_in_force(const Settings& in_force);

}  // namespace fp32shim
