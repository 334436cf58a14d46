// Finds the provider of a call: the library to which the caller would have bound without the shim.
//
// dlsym with RTLD_NEXT cannot find the provider, because it searches only the global scope. It returns NULL for every
// extension module that Python opens with RTLD_LOCAL, and it picks the wrong library if two versions of a library are
// loaded.
#pragma once

#include <link.h>

#include <string_view>

#include "shim/loader/elf/objects.hpp"
#include "shim/loader/foreign_function.hpp"
#include "shim/loader/loaded_object.hpp"
#include "shim/table/functions.hpp"
#include "system/inline_text.hpp"

namespace fp32shim {

struct FunctionBinding {
    LoadedObject* provider = nullptr;  ///< nullptr if no library provides the function
    void* address = nullptr;
    /// True if the caller does not import the name; the binding is then valid until objects are added.
    bool by_importers = false;
    /// True if the caller does not import the name, and the objects that import it bind it to different libraries.
    bool ambiguous = false;
};

/// Returns the library and address that a call of `function` by `caller` reaches. `caller` is nullptr for code
/// outside every object. Searches the global scope, then, in load order, the scopes of objects opened by dlopen that
/// contain the caller. Uses the symbol version of the caller's import. If the caller does not import the name (a
/// tail call through a wrapper, a function pointer, JIT code), returns the library to which the objects that import
/// it are bound. Never returns an entry point of the shim. Thread-safe, takes no lock, calls nothing of the loader.
FunctionBinding find_binding(LoadedObject* caller, FunctionIndex function);

/// Returns true if a loaded object other than the shim defines this name. Does not call the loader.
bool is_provided(std::string_view name, std::string_view version);

/// Returns the result of dlsym with RTLD_DEFAULT, called from `caller`, as if the shim were not loaded.
FunctionBinding find_by_rtld_default(const LoadedObject* caller, std::string_view name, std::string_view version);

/// Returns the result of dlsym with `handle`, which dlopen has returned, as if the shim were not loaded. In glibc, a
/// handle is the object's link_map.
FunctionBinding find_by_handle(const void* handle, std::string_view name, std::string_view version);

/// Returns true if dlsym with `handle`, which dlopen has returned, searches `object`.
bool handle_scope_contains(const void* handle, const link_map* object);

/// The result of dlsym with RTLD_NEXT, as if the shim were not loaded.
struct NextDefinition {
    bool is_ours = false;     ///< true if the loader itself would return an entry point of the shim
    void* address = nullptr;  ///< the next definition after the caller that is not the shim's, or nullptr
};
NextDefinition find_by_rtld_next(const LoadedObject* caller, std::string_view name, std::string_view version);

/// Returns the address of `name` in `library` alone, or nullptr. Precondition: the library is loaded.
void* find_symbol_in(const LoadedObject& library, std::string_view name);
template <class Signature>
void find_symbol_in(const LoadedObject& library, std::string_view name, ForeignFunction<Signature>& function) {
    function = ForeignFunction<Signature>(find_symbol_in(library, name));
}

/// Calls `visit(LoadedObject&)` for the loaded libraries that `library` names as needed (DT_NEEDED), until `visit`
/// returns true. Precondition: an elf::ReadGuard is held.
template <class Visit>
void visit_needed_libraries(const LoadedObject& library, const Visit& visit) {
    const elf::ObjectTables object = elf::read_object_tables(library.map);
    if (object.strings == nullptr) return;
    for (const ElfW(Dyn)* entry = library.map->l_ld; entry->d_tag != DT_NULL; ++entry) {
        if (entry->d_tag != DT_NEEDED) continue;
        const std::string_view needed = system::view(object.strings + entry->d_un.d_val);
        for (const link_map* map = elf::first_object(); map != nullptr; map = map->l_next)
            if (elf::name_of(map) == needed && visit(*loaded_object(map))) return;
    }
}

}  // namespace fp32shim
