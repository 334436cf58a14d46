// Which library a call must reach: the one that the caller would have bound to without the shim.
//
// RTLD_NEXT is not the answer: it sees only the global scope, so it returns NULL for every extension module that
// Python opens RTLD_LOCAL, and it picks the wrong library where two versions of one are loaded.
#pragma once

#include <link.h>

#include <atomic>
#include <cstdint>
#include <string_view>

#include "shim/functions.hpp"

namespace fp32shim {

/// Width of a provider's integer arguments.
enum class IntegerWidth : std::int8_t { not_probed = 0, bits32 = 32, bits64 = 64, unknown = -1 };

/// A library that multiplies. One per loaded object, never freed; dropped from the list when it is unloaded.
struct Provider {
    const link_map* map;
    std::string_view name;  ///< base name of its file
    std::atomic<IntegerWidth> width{IntegerWidth::not_probed};
    Provider* next = nullptr;
};

/// Where a call goes.
struct Binding {
    Provider* provider = nullptr;  ///< nullptr: no library provides the function
    void* address = nullptr;
    bool ambiguous = false;  ///< the caller does not import the name, and importers bind to different libraries
};

/// What a call from `caller` (nullptr: code outside every object) to this function binds to:
/// the global scope first, then the scopes of the roots that brought the caller in, in load order, by the symbol
/// version that the caller's import names. A caller that does not import the name (a tail call through a wrapper, a
/// function pointer, JIT code) gets the provider that all importers share.
/// Never one of our own entries. Thread-safe; takes no lock; calls nothing of the loader.
Binding find_binding(const link_map* caller, FunctionIndex function);

/// The definition that a lookup by name alone from `caller` would find (dlsym with RTLD_DEFAULT).
Binding find_by_name(const link_map* caller, std::string_view name, std::string_view version);

/// What dlsym with RTLD_NEXT from `caller` would find behind us.
struct NextDefinition {
    bool is_ours = false;     ///< the loader's own answer would be one of our entry points
    void* address = nullptr;  ///< the definition behind ours; nullptr: there is none
};
NextDefinition find_next(const link_map* caller, std::string_view name);

/// The function of that name in this provider alone, or nullptr.
void* find_in(const Provider& provider, std::string_view name);

/// The provider record of the object that contains this address; nullptr when it is in none.
Provider* provider_at(const void* address);

/// Asks the provider once how wide its integers are, by a level-1 routine that behaves differently for each.
IntegerWidth integer_width(Provider& provider, const Function& function);

/// Forgets providers and import tables of objects that are no longer loaded.
void forget_unloaded_providers();

}  // namespace fp32shim
