// The express lane of cuBLAS. Where the site has a cached plan for calls like this one, and the plan needs at most
// another compute type, the call is only run, and counted if calls are recorded. A call that the library refuses is
// planned anew by govern(): the library has launched nothing.
#pragma once

#include "shim/cublas/site_plan.hpp"

namespace fp32shim::cublas {

/// Returns the key under which the recording counts later calls with these arguments that run by the cached plan.
/// Returns an empty key if the site has not cached this plan, or if this call failed or did not run as planned.
ExpressKey express_key_after(const Site& site, const Frame& frame, const Product& product, const Plan& plan,
                             const Done& done, std::uint32_t change_count);

}  // namespace fp32shim::cublas
