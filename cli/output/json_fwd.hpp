// Name of JSON values, for headers that only pass them on: all of nlohmann's takes 2 s to compile.
#pragma once

#include <nlohmann/json_fwd.hpp>

namespace fp32shim::cli {

/// JSON value whose keys stay in the order in which they are set.
using Json = nlohmann::ordered_json;

}  // namespace fp32shim::cli
