// The shim's own C API, looked up as its header describes. In a process without the shim all functions are missing.
#pragma once

#include <dlfcn.h>

namespace clients {

struct ShimApi {
    int (*set_precision)(const char*) = nullptr;
    int (*push_scope)(const char*, const char*, const char*) = nullptr;
    int (*pop_scope)() = nullptr;
    int (*reload_policy)() = nullptr;

    bool is_there() const {
        return set_precision != nullptr && push_scope != nullptr && pop_scope != nullptr && reload_policy != nullptr;
    }
};

inline ShimApi shim_api() {
    ShimApi result;
    result.set_precision = reinterpret_cast<int (*)(const char*)>(dlsym(RTLD_DEFAULT, "fp32shim_set_precision"));
    result.push_scope =
        reinterpret_cast<int (*)(const char*, const char*, const char*)>(dlsym(RTLD_DEFAULT, "fp32shim_push_scope"));
    result.pop_scope = reinterpret_cast<int (*)()>(dlsym(RTLD_DEFAULT, "fp32shim_pop_scope"));
    result.reload_policy = reinterpret_cast<int (*)()>(dlsym(RTLD_DEFAULT, "fp32shim_reload_policy"));
    return result;
}

}  // namespace clients
