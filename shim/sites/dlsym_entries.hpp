// Entry points for functions that a program looks up by dlsym, since a lookup in a library does not find those of
// the preloaded shim. Each pair of a function and an address gets its own entry point, so the functions of two
// libraries stay different pointers.
#pragma once

#include "shim/entry/site.hpp"
#include "shim/table/functions.hpp"

namespace fp32shim {

/// Returns the entry point for this function at this address, always the same one. Returns nullptr if none is left,
/// or if the lock under which a new one is made cannot be had. Thread-safe.
void* dlsym_entry_for(FunctionIndex function, void* address);
/// Returns the entry point that dlsym_entry_for() made earlier, or nullptr if there is none. Thread-safe, lock-free.
void* known_dlsym_entry(FunctionIndex function, void* address);

/// The function that an entry point calls, and its address.
struct DlsymBinding {
    FunctionIndex function;
    void* address;
};
/// Returns the function and the address for which dlsym_entry_for() made this entry point. Thread-safe, lock-free.
DlsymBinding dlsym_binding(EntryIndex entry);
/// Frees the entry points of functions whose libraries are no longer loaded.
void forget_unloaded_dlsym_entries();

}  // namespace fp32shim
