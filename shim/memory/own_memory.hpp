// Memory and a stack for the code that reads the settings. That code allocates by this library's operator new, both
// in policy/ and in the standard library. A program may have reached its memory limit long before its first product,
// and a failure of the shim must not end the program. The code must also work in a thread with a stack of only 16 KB.
#pragma once

namespace fp32shim {

/// Calls `function(argument)`. Returns true if the function returned, false if memory ran out. In that case the
/// function was abandoned in the middle, and its allocations are never freed. Only one thread at a time may call
/// this.
bool run_while_memory_lasts(void (*function)(void*), void* argument);

/// Calls `function(argument)` on a stack of 2 MiB or, if the kernel has no memory for it, on a spare one of 128 KiB.
/// Only one thread at a time may call this.
void run_on_own_stack(void (*function)(void*), void* argument);

}  // namespace fp32shim
