// Provides memory and a stack to the code that reads the settings, which allocates by the operator new of
// own_memory.cpp. It works in a signal handler that has interrupted malloc, and in a thread whose stack has only 16
// KB. A program may have reached its memory limit long before its first product, and must not end because the shim
// finds no memory.
#pragma once

namespace fp32shim {

/// Calls `function(argument)`. Returns true if the function returned. If memory runs out, leaves the function by
/// longjmp, never frees its allocations, and returns false. Only one thread at a time may call
/// run_while_memory_lasts().
bool run_while_memory_lasts(void (*function)(void*), void* argument);

/// Calls `function(argument)` on a stack of 2 MiB or, if the kernel has no memory for it, on a spare stack of 128
/// KiB. Only one thread at a time may call run_on_own_stack().
void run_on_own_stack(void (*function)(void*), void* argument);

}  // namespace fp32shim
