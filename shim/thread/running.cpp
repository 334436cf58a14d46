#include "shim/thread/running.hpp"

#include "shim/loader/elf/objects.hpp"
#include "shim/thread/thread_context.hpp"

namespace fp32shim {

constinit thread_local RunningProduct running{};

namespace {

/// Returns true for a library of MKL. MKL consists of several libraries that call each other through libmkl_rt, with
/// which programs are linked.
bool is_mkl(const LoadedObject& object) { return object.name.starts_with("libmkl_"); }

}  // namespace

/// Returns true if the caller is the library that computes the running product, or its delegate (see RunningProduct).
/// Also returns true if the call returns into the shim, because then a library that the shim had called jumped to an
/// entry point.
bool is_inner_call(const Site& site, const Frame* frame) {
    if (running.provider == nullptr || frame >= running.frame || site.caller == nullptr) return false;
    return site.caller == running.provider || site.caller == running.delegate ||
           site.caller->map == elf::own_object() || (is_mkl(*site.caller) && is_mkl(*running.provider));
}

void note_permitted_format(const Frame& product, policy::AppliedFormat lowest) {
    ThreadContext* const context = thread_context();
    if (context == nullptr) return;
    context->product = &product;
    context->permitted_format = lowest;
}

policy::AppliedFormat permitted_format(const Frame& product) {
    const ThreadContext* const context = existing_thread_context();
    return context != nullptr && context->product == &product ? context->permitted_format
                                                              : policy::AppliedFormat::fp32;
}

LoadedObject* running_library() { return running.delegate != nullptr ? running.delegate : running.provider; }

}  // namespace fp32shim
