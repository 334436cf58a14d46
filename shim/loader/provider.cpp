#include "shim/loader/provider.hpp"

#include "shim/loader/elf/objects.hpp"
#include "system/inline_text.hpp"

namespace fp32shim {
namespace {

/// Returns true if the object is this library or another copy of the shim. The shim is never a provider.
bool is_shim(const elf::ObjectTables& object) {
    return object.map == elf::own_object() || elf::find_definition(object, "fp32shim_abi_version", {}) != nullptr;
}

FunctionBinding bind_to(const link_map* map, std::string_view name, std::string_view version) {
    const elf::ObjectTables object = elf::read_object_tables(map);
    const ElfW(Sym)* symbol = elf::find_definition(object, name, version);
    if (symbol == nullptr || is_shim(object)) return {};
    return {loaded_object(map), reinterpret_cast<void*>(elf::address_of(object, *symbol))};
}

/// Returns true if `earlier` comes before `later` in load order, or if both are the same object. Walks from both
/// objects at the same time, because the list may have thousands of objects, and a plugin is near the end of the
/// list.
bool is_loaded_before(const link_map* earlier, const link_map* later) {
    const link_map* behind_later = later;
    for (const link_map* map = earlier; map != nullptr; map = map->l_next) {
        if (map == later || behind_later == nullptr) return true;
        if (behind_later == earlier) return false;
        behind_later = behind_later->l_next;
    }
    return false;
}

/// Searches a scope for a definition. If `limit` is given, skips objects that were loaded after `limit`.
FunctionBinding search(elf::SearchScope scope, std::string_view name, std::string_view version,
                       const link_map* limit = nullptr) {
    for (std::size_t i = 0; i < scope.count(); ++i) {
        if (limit != nullptr && !is_loaded_before(scope.at(i), limit)) continue;
        if (const FunctionBinding found = bind_to(scope.at(i), name, version); found.address != nullptr) return found;
    }
    return {};
}

FunctionBinding search_in_load_order(std::string_view name, std::string_view version) {
    for (const link_map* map = elf::first_object(); map != nullptr; map = map->l_next)
        if (const FunctionBinding found = bind_to(map, name, version); found.address != nullptr) return found;
    return {};
}

FunctionBinding search_scopes_of(const link_map* caller, std::string_view name, std::string_view version) {
    const elf::SearchScope global = elf::global_scope();
    if (global.count() == 0) return search_in_load_order(name, version);
    // The loader binds references when it loads an object. An object that is opened with RTLD_GLOBAL later was not in
    // the global scope at that time. So its definition counts only if no other object defines the name (which happens
    // with lazy binding). Callers in the global scope have no such limit, because their own dependencies are later in
    // load order but also in the global scope.
    const link_map* limit = global.contains(caller) ? nullptr : caller;
    if (const FunctionBinding found = search(global, name, version, limit); found.address != nullptr) return found;
    for (const link_map* root = elf::first_object(); root != nullptr; root = root->l_next) {
        const elf::SearchScope scope = elf::local_scope(root);
        if (root == elf::first_object() || !scope.contains(caller)) continue;
        if (const FunctionBinding found = search(scope, name, version); found.address != nullptr) return found;
    }
    return search(global, name, version);
}

FunctionBinding bind_import(const LoadedObject& importer, std::int32_t symbol, FunctionIndex function) {
    const elf::SymbolVersion version =
        elf::version_of(elf::read_object_tables(importer.map), static_cast<std::size_t>(symbol));
    return search_scopes_of(importer.map, functions[function].name, version.name);
}

/// Returns true if both objects are in one scope: the main program's, or that of an object opened by dlopen.
bool share_a_scope(const link_map* left, const link_map* right) {
    for (const link_map* root = elf::first_object(); root != nullptr; root = root->l_next) {
        const elf::SearchScope scope = elf::local_scope(root);
        if (scope.contains(left) && scope.contains(right)) return true;
    }
    return false;
}

/// Returns the library and address of a function for a caller that does not import it: a caller that calls through a
/// pointer, or that called another object's function, which ended in a tail call. Takes the binding of the first
/// object that imports the function, or returns an empty binding if no object does. Marks the binding as ambiguous if
/// another importer has a different address. If `only_beside_caller` is true, considers only importers that share a
/// scope with the caller.
FunctionBinding bind_as_importers_do(const LoadedObject* caller, FunctionIndex function, bool only_beside_caller) {
    const link_map* own = elf::own_object();
    FunctionBinding shared;
    for (const link_map* map = elf::first_object(); map != nullptr; map = map->l_next) {
        if (map == own) continue;
        LoadedObject* importer = loaded_object(map);
        const std::int32_t symbol = find_import_symbol(*importer, function);
        if (symbol < 0 || (only_beside_caller && !share_a_scope(map, caller->map))) continue;
        const FunctionBinding binding = bind_import(*importer, symbol, function);
        if (binding.address == nullptr) continue;
        if (shared.address == nullptr)
            shared = binding;
        else if (shared.address != binding.address)
            shared.ambiguous = true;
    }
    shared.by_importers = shared.address != nullptr;
    return shared;
}

}  // namespace

FunctionBinding find_binding(LoadedObject* caller, FunctionIndex function) {
    if (caller != nullptr) {
        const std::int32_t symbol = find_import_symbol(*caller, function);
        if (symbol >= 0)
            if (const FunctionBinding found = bind_import(*caller, symbol, function); found.address != nullptr)
                return found;
    }
    for (const bool only_beside_caller : {true, false}) {
        if (only_beside_caller && caller == nullptr) continue;
        const FunctionBinding shared = bind_as_importers_do(caller, function, only_beside_caller);
        if (shared.address != nullptr) return shared;
    }
    if (const FunctionBinding found = find_by_rtld_default(caller, functions[function].name, {});
        found.address != nullptr)
        return found;
    return search_in_load_order(functions[function].name, {});
}

bool is_provided(std::string_view name, std::string_view version) {
    // The search begins at the end of the list, because the loader asks most often for functions of the libraries
    // that it has just loaded.
    const link_map* map = elf::first_object();
    while (map != nullptr && map->l_next != nullptr) map = map->l_next;
    for (; map != nullptr; map = map->l_prev) {
        const elf::ObjectTables object = elf::read_object_tables(map);
        if (elf::find_definition(object, name, version) != nullptr && !is_shim(object)) return true;
    }
    return false;
}

FunctionBinding find_by_rtld_default(const LoadedObject* caller, std::string_view name, std::string_view version) {
    return search_scopes_of(caller == nullptr ? nullptr : caller->map, name, version);
}

FunctionBinding find_by_handle(const void* handle, std::string_view name, std::string_view version) {
    for (const link_map* map = elf::first_object(); map != nullptr; map = map->l_next)
        if (map == handle) return search(elf::local_scope(map), name, version);
    return {};
}

bool handle_scope_contains(const void* handle, const link_map* object) {
    for (const link_map* map = elf::first_object(); map != nullptr; map = map->l_next)
        if (map == handle) return elf::local_scope(map).contains(object);
    return false;
}

NextDefinition find_by_rtld_next(const LoadedObject* caller, std::string_view name, std::string_view version) {
    // For a caller outside the global scope, RTLD_NEXT never finds the shim, and the second loop finds nothing.
    const elf::SearchScope global = elf::global_scope();
    std::size_t i = 0;
    while (i < global.count() && (caller == nullptr || global.at(i) != caller->map)) ++i;
    NextDefinition next;
    for (++i; i < global.count(); ++i) {
        const elf::ObjectTables object = elf::read_object_tables(global.at(i));
        const ElfW(Sym)* symbol = elf::find_definition(object, name, version);
        if (symbol == nullptr) continue;
        if (!is_shim(object)) {
            next.address = reinterpret_cast<void*>(elf::address_of(object, *symbol));
            return next;
        }
        next.is_ours = true;
    }
    return next;
}

void* find_symbol_in(const LoadedObject& library, std::string_view name) {
    const elf::ObjectTables object = elf::read_object_tables(library.map);
    const ElfW(Sym)* symbol = elf::find_definition(object, name, {});
    return symbol == nullptr ? nullptr : reinterpret_cast<void*>(elf::address_of(object, *symbol));
}

}  // namespace fp32shim
