// This file is compiled without vector registers (invariant 7 of blas/govern/express.hpp), and calls no function that
// may use them.
#include "shim/blas/govern/express.hpp"

extern "C" void* fp32shim_express(fp32shim::Site* site, const fp32shim::Frame* frame) {
    using namespace fp32shim;
    if (site->forwards_while_bound.load(std::memory_order_relaxed))
        return is_binding_current(*site) ? site->real : nullptr;
    if (site->provider->calls_back.load(std::memory_order_relaxed)) return nullptr;
    const blas::ExpressCall call = blas::prepare_express_call(*site, *frame);
    if (call.recording == nullptr || !call.recording->count_untimed(*call.writer, call.key, call.with_event))
        return nullptr;
    return site->real;
}
