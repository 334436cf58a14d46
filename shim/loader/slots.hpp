// Entry points for functions whose address a program asks for by name: dlsym on a library goes past a preload.
// Each (function, address) gets an entry point of its own, so that two libraries keep two pointers.
#pragma once

#include "shim/site.hpp"
#include "shim/table/functions.hpp"

namespace fp32shim {

/// Returns the entry point for this function at this address, the same one each time; nullptr if no slot is left.
/// Thread-safe, lock-free.
void* slot_for(FunctionIndex function, void* address);

struct SlotBinding {
    FunctionIndex function;
    void* address;
};
SlotBinding slot_binding(EntryIndex entry);
void forget_unloaded_slots();

}  // namespace fp32shim
