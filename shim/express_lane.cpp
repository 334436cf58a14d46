// Compiled without vector registers, so that the entry point need not save those that carry arguments. Nothing here
// may call what is not.
#include "shim/express_lane.hpp"

#include "shim/entry/gate.hpp"

extern "C" void* fp32shim_express(fp32shim::Site* site, const fp32shim::Frame* frame) {
    using namespace fp32shim;
    if (site->forwards_while_bound.load(std::memory_order_relaxed)) return is_bound(*site) ? site->real : nullptr;
    // While such a call runs we do not know that it does. So this is not for a library that comes back to us, which
    // shows in the calls that are timed: the first of every row, and one in some later ones.
    if (site->provider->calls_back.load(std::memory_order_relaxed)) return nullptr;
    const ExpressCall call = express_call(*site, *frame);
    if (call.recording == nullptr || !call.recording->count_untimed(*call.writer, call.key, call.with_event))
        return nullptr;
    return site->real;
}
