// The environment as it was when the program began to use it.
#pragma once

#include "policy/load.hpp"

namespace fp32shim {

/// Returns the environment as it was at the first call; reloads read it too. If it has none of our variables by then,
/// those that the process was started with are added.
const policy::Environment& first_environment();

}  // namespace fp32shim
