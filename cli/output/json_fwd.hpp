// Declares the type of JSON values for headers that only pass them on, because all of nlohmann's headers take 2 s to
// compile.
#pragma once

#include <nlohmann/json_fwd.hpp>

namespace fp32shim::cli {

/// JSON value whose keys keep the order in which they were set.
using Json = nlohmann::ordered_json;

}  // namespace fp32shim::cli
