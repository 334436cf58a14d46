#include "cli/source_locations/libdw.hpp"

#include <dlfcn.h>

namespace fp32shim::cli {
namespace {

bool load(Libdw& functions) {
    void* library = dlopen("libdw.so.1", RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) return false;
    bool is_whole = true;
    const auto find = [&]<class Function>(Function& function, const char* name) {
        function = reinterpret_cast<Function>(dlsym(library, name));
        is_whole = is_whole && function != nullptr;
    };
#define FP32SHIM_LIBDW_FIND(name) find(functions.name, #name);
    FP32SHIM_LIBDW_FUNCTIONS(FP32SHIM_LIBDW_FIND)
#undef FP32SHIM_LIBDW_FIND
    return is_whole;
}

}  // namespace

const Libdw* libdw() {
    static Libdw functions;
    static const bool is_there = load(functions);
    return is_there ? &functions : nullptr;
}

}  // namespace fp32shim::cli
