// The provider of a call: the library that the caller would have bound to without the shim.
//
// RTLD_NEXT is not the answer: it sees only the global scope, so it returns NULL for every extension module that
// Python opens RTLD_LOCAL, and it picks the wrong library if two versions of one are loaded.
#pragma once

#include <link.h>

#include <atomic>
#include <cstdint>
#include <string_view>

#include "shim/loader/loaded_object.hpp"
#include "shim/table/functions.hpp"

namespace fp32shim {

struct Binding {
    LoadedObject* provider = nullptr;  ///< nullptr: no library provides the function
    void* address = nullptr;
    bool by_importers = false;  ///< the caller does not import the name: the answer holds until objects are added
    bool ambiguous = false;     ///< the caller does not import the name, and importers bind to different libraries
};

/// Returns the library, and the address in it, that a call of this function by `caller` (nullptr: code outside every
/// object) reaches. Searches the global scope, then those of the dlopened objects that brought the caller in, in load
/// order, by the symbol version that the caller's import names. A caller that does not import the name (a tail call
/// through a wrapper, a function pointer, JIT code) gets the provider that all importers share. Never returns one of
/// the shim's entries. Thread-safe; takes no lock; calls nothing of the loader.
Binding find_binding(LoadedObject* caller, FunctionIndex function);

/// Returns the result that dlsym with RTLD_DEFAULT would have from `caller` without the shim.
Binding find_default(const LoadedObject* caller, std::string_view name, std::string_view version);

/// Returns the result that dlsym on this handle of dlopen would have without the shim. In glibc, a handle is the
/// object's link_map.
Binding find_in_handle(const void* handle, std::string_view name, std::string_view version);

/// The result that dlsym with RTLD_NEXT would have without the shim.
struct NextDefinition {
    bool is_ours = false;     ///< the loader's own answer would be an entry point of the shim
    void* address = nullptr;  ///< next definition after the caller that is not the shim's; nullptr: there is none
};
NextDefinition find_next(const LoadedObject* caller, std::string_view name, std::string_view version);

/// Returns the function of that name in this library alone, or nullptr. Precondition: the library is loaded.
void* find_in(const LoadedObject& library, std::string_view name);
template <class Function>
void find_in(const LoadedObject& library, std::string_view name, Function*& function) {
    function = reinterpret_cast<Function*>(find_in(library, name));
}

}  // namespace fp32shim
