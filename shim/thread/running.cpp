#include "shim/thread/running.hpp"

#include "shim/loader/elf/objects.hpp"

namespace fp32shim {

constinit thread_local Running running{};

namespace {

/// Returns true for a library of MKL. MKL consists of several libraries that call each other through libmkl_rt, which
/// programs link.
bool is_mkl(const LoadedObject& object) { return object.name.starts_with("libmkl_"); }

}  // namespace

/// Returns true if the caller is the library that computes the running product, or its delegate (see Running). A
/// return address in the shim counts too: the shim had called a library that jumped on to an entry point.
bool is_inner(const Site& site, const Frame* frame) {
    if (running.provider == nullptr || frame >= running.frame || site.caller == nullptr) return false;
    return site.caller == running.provider || site.caller == running.delegate ||
           site.caller->map == elf::own_object() || (is_mkl(*site.caller) && is_mkl(*running.provider));
}

LoadedObject* running_library() { return running.delegate != nullptr ? running.delegate : running.provider; }

}  // namespace fp32shim
