// The way of one governed call: describe, decide, plan, run, record.
#pragma once

#include <cstdint>

#include "shim/site.hpp"

namespace fp32shim {

/// Whether calls from this site have to be looked at one by one. Where not, the provider is reached by a jump:
/// nothing is asked that would change the call, and nobody wants to know about it.
bool needs_gate(Site& site);

}  // namespace fp32shim
