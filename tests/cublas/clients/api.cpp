#include "api.hpp"

#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>

namespace clients {

#ifndef CLIENTS_LINKED
namespace {

/// Opens the first of these libraries that can be opened; null if none can.
void* open_first(std::initializer_list<const char*> names) {
    for (const char* name : names)
        if (void* library = dlopen(name, RTLD_NOW | RTLD_LOCAL)) return library;
    return nullptr;
}

void* open_cublas(std::initializer_list<const char*> names) {
    if (void* library = open_first(names)) return library;
    std::fprintf(stderr, "%s\n", dlerror());
    std::exit(2);
}

}  // namespace

void* look_up(Library library, const char* name) {
    // A machine without a driver has no device either, which Device reports.
    static void* const driver = open_first({"libcuda.so.1"});
    static void* const cublas = open_cublas({"libcublas.so.13", "libcublas.so.12", "libcublas.so.11"});
    static void* const cublas_lt = open_cublas({"libcublasLt.so.13", "libcublasLt.so.12", "libcublasLt.so.11"});
    void* const handle = library == Library::driver ? driver : library == Library::cublas ? cublas : cublas_lt;
    return handle == nullptr ? nullptr : dlsym(handle, name);
}
#endif

const Api& api() {
    static const Api table = [] {
        Api result;
#define TAKE(library, name) result.name = CLIENTS_ADDRESS(library, decltype(result.name), name);
#define TAKE_DRIVER(name) TAKE(driver, name)
#define TAKE_CUBLAS(name) TAKE(cublas, name)
#define TAKE_LT(name) TAKE(cublas_lt, name)
        CLIENTS_DRIVER_FUNCTIONS(TAKE_DRIVER)
        CLIENTS_CUBLAS_STATE_FUNCTIONS(TAKE_CUBLAS)
        CLIENTS_LT_FUNCTIONS(TAKE_LT)
#define PRODUCT(name, ...) TAKE(cublas, name) TAKE(cublas, name##_64)
#define PRODUCT_ALSO(...)
#define LEGACY(...)
#define XT(...)
#define NARROW(name, ...) PRODUCT(name)
#include "products.def"
        return result;
    }();
    return table;
}

}  // namespace clients
