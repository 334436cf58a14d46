// The gate of governed calls: keeps away what is not governed, and hands the rest to the side that governs it.
#include "shim/blas/govern/express.hpp"
#include "shim/blas/govern/govern.hpp"
#include "shim/blas/product.hpp"
#include "shim/cublas/govern/govern.hpp"
#include "shim/settings/settings.hpp"
#include "shim/sites/find_site.hpp"

extern "C" fp32shim::CallOutcome fp32shim_govern(fp32shim::Site* site, const fp32shim::Frame* frame) {
    using namespace fp32shim;
    if (CallOutcome outcome{}; blas::is_express(*site) && blas::runs_on_express_lane(*site, *frame, outcome))
        return outcome;
    site = rebound_site(site);
    const CallOutcome untouched{0, site->real};
    carry_out_waiting_command();
    const std::uint32_t change_count = settings_change_count();  // counted before the settings are looked at
    const Settings& in_force = settings();
    // A stand-in has another signature than the function that was called, so it is never jumped to.
    const bool stands_in = site->runs_one_by_one();
    // A site whose target was set under older settings may be governed in vain, which does no harm.
    if (!stands_in &&
        (in_force.forward_everything || !site->is_blas || site->forwards_while_bound.load(std::memory_order_relaxed)))
        return untouched;
    // A bare name can be anybody's function.
    if (!stands_in && site->function->convention == Convention::bare &&
        !blas::arguments_look_like_pointers(*site->function, *frame))
        return untouched;
    const bool inner = is_inner(*site, frame);
    if (inner && !stands_in) {
        running.provider->calls_back.store(true, std::memory_order_relaxed);
        running.delegate = site->provider;
        return untouched;
    }
    if (is_of_cublas(site->function->convention)) return cublas::govern(*site, *frame, in_force, change_count);
    return blas::govern(*site, *frame, in_force, change_count, inner);
}
