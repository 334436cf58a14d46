// operator new of this library: what reads the settings allocates by it, wherever in policy/ or the standard library
// that is. A program may have reached its limit of memory long before its first product, and a failure of ours must
// not end it.
#pragma once

namespace fp32shim {

/// Runs a function. False: there was no memory for it, and it was left in the middle, its memory lost. One thread at
/// a time.
bool run_while_memory_lasts(void (*function)(void*), void* argument);

}  // namespace fp32shim
