// Provides entry points for functions that a program looks up by dlsym, because a lookup in a library does not find
// the entry points of the preloaded shim. Each pair of a function and an address gets its own entry point, so that
// the functions of two libraries stay different pointers.
#pragma once

#include "shim/entry/site.hpp"
#include "shim/table/functions.hpp"

namespace fp32shim {

/// Returns the entry point that stands for this function at this address. The same arguments always give the same
/// entry point. Returns nullptr if no entry point is left, or if the lock for making one cannot be taken.
/// Thread-safe.
void* dlsym_entry_for(FunctionIndex function, void* address);
/// Returns the entry point that dlsym_entry_for() made earlier, or nullptr if there is none. Thread-safe and
/// lock-free.
void* known_dlsym_entry(FunctionIndex function, void* address);

/// The function that an entry point calls, and the function's address.
struct DlsymBinding {
    FunctionIndex function;
    void* address;
};
/// Returns the function and the address for which dlsym_entry_for() made this entry point. Thread-safe and lock-free.
DlsymBinding dlsym_binding(EntryIndex entry);
/// Frees the entry points of functions whose libraries are no longer loaded.
void forget_unloaded_dlsym_entries();

}  // namespace fp32shim
