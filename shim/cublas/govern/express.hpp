// The express lane of cuBLAS, for calls for which the site keeps a plan that changes at most the compute type. Such a
// call is only run, and counted if calls are recorded. If the library refuses it, nothing was launched, and govern()
// plans it again.
#pragma once

#include "shim/cublas/site_plan.hpp"

namespace fp32shim::cublas {

/// Returns the key by which the recording counts later calls with these arguments that run by the kept plan. Returns
/// an empty key if the site does not keep this plan, or if this call failed or did not run as planned.
ExpressKey express_key_after(const Site& site, const Frame& frame, const Product& product, const Plan& plan,
                             const Done& done, std::uint32_t change_count);

}  // namespace fp32shim::cublas
