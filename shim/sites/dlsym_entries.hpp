// Entry points for functions whose address a program asks for by name: dlsym on a library goes past a preload.
// Each (function, address) gets an entry point of its own, so that two libraries keep two pointers.
#pragma once

#include "shim/entry/site.hpp"
#include "shim/table/functions.hpp"

namespace fp32shim {

/// Returns the entry point for this function at this address, the same one each time; nullptr if none is left.
/// Thread-safe, lock-free.
void* dlsym_entry_for(FunctionIndex function, void* address);
/// Returns the entry point that dlsym_entry_for() has made for them; nullptr: none. Likewise.
void* known_dlsym_entry(FunctionIndex function, void* address);

/// The function that an entry point calls, and its address.
struct DlsymBinding {
    FunctionIndex function;
    void* address;
};
/// Returns the function, and its address, for which dlsym_entry_for made this entry point. Thread-safe, lock-free.
DlsymBinding dlsym_binding(EntryIndex entry);
/// Frees the entry points of functions whose libraries are no longer loaded.
void forget_unloaded_dlsym_entries();

}  // namespace fp32shim
