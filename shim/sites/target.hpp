// The target of a site: the provider's function, or the gate that leads a call into the shim.
#pragma once

#include "shim/site.hpp"

namespace fp32shim {

/// Sets the target by the settings in force, and forgets what the site has kept under older ones.
void refresh(Site& site);

}  // namespace fp32shim
