// The express lane of cuBLAS: where the site keeps a plan for calls like this one, and the plan needs at most another
// compute type, there is nothing to do but to run the call, and to count it if calls are recorded. A call that the
// library refuses goes the long way: the library has launched nothing.
#pragma once

#include "shim/cublas/plan.hpp"

namespace fp32shim::cublas {

/// Returns the key of the recording's row for later calls like this one, which may run by the plan that the site
/// keeps; an empty key if they may not.
ExpressKey express_key_after(const Site& site, const Frame& frame, const Product& product, const Plan& plan,
                             const Done& done, std::uint32_t change_count);

}  // namespace fp32shim::cublas
