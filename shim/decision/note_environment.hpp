// Notes the environment of a recorded process: processor, Python, torch, the libraries that multiply, and devices.
#pragma once

#include "policy/matmul_call.hpp"
#include "shim/entry/site.hpp"
#include "shim/settings/settings.hpp"

namespace fp32shim {

/// Notes the facts that a call with a new decision shows for the first time. Asks the provider for its version once,
/// and for its number of threads each time, until eight changes were noted. Precondition: in_force.recording is set.
/// Never called for calls whose decision is known. Thread-safe.
void note_environment(const Settings& in_force, const Site& site, const policy::MatmulCall& call);

}  // namespace fp32shim
