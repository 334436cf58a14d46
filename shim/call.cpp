// Defines fp32shim_govern, which the gate calls: the assembly code that saves the arguments of an intercepted call.
// fp32shim_govern forwards calls that need not be governed, and hands all others to blas/, cublas/ or kernels/.
#include "shim/blas/govern/express.hpp"
#include "shim/blas/govern/govern.hpp"
#include "shim/blas/product.hpp"
#include "shim/cublas/govern/govern.hpp"
#include "shim/kernels/driver_calls.hpp"
#include "shim/settings/settings.hpp"
#include "shim/sites/find_site.hpp"

extern "C" fp32shim::CallOutcome fp32shim_govern(fp32shim::Site* site, fp32shim::Frame* frame) {
    using namespace fp32shim;
    if (CallOutcome outcome{}; blas::has_express_word(*site) && blas::try_express_lane(*site, *frame, outcome))
        return outcome;
    site = rebound_site(site);
    const CallOutcome untouched{0, site->real};
    carry_out_waiting_command();
    const std::uint32_t change_count = settings_change_count();  // must be read before the settings
    const Settings& in_force = settings();
    // If no library has a batch function, the shim computes the batch by a function for single products. That
    // function has another signature, so the gate cannot jump to it.
    const bool stands_in = site->runs_batch_one_by_one();
    // The call site's target may have been set under older settings. Then calls that pass this check are governed
    // needlessly, which does no harm.
    if (!stands_in &&
        (in_force.forward_everything || !site->is_blas || site->forwards_while_bound.load(std::memory_order_relaxed)))
        return untouched;
    // A function with a bare name, such as `sgemm`, may belong to a library that is no BLAS, so its arguments are
    // checked first.
    if (!stands_in && site->function->convention == CallingConvention::bare &&
        !blas::arguments_look_like_pointers(*site->function, *frame))
        return untouched;
    if (site->function->convention == CallingConvention::driver)
        return kernels::run_driver_call(*site, *frame, in_force);
    const bool inner = is_inner_call(*site, frame);
    if (inner && !stands_in) {
        running.provider->calls_back.store(true, std::memory_order_relaxed);
        running.delegate = site->provider;
        return untouched;
    }
    if (is_of_cublas(site->function->convention)) return cublas::govern_call(*site, *frame, in_force, change_count);
    return blas::govern_call(*site, *frame, in_force, change_count, inner);
}
