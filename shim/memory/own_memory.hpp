// Memory and a stack for reading the settings. That code allocates by the operator new of this library, in policy/
// and in the standard library. A program may have reached its limit of memory long before its first product, and a
// failure of the shim must not end it. Nor may it need more stack than a thread of 16 KB has.
#pragma once

namespace fp32shim {

/// Calls `function(argument)`. Returns true if the function returned; false if memory ran out during the call. The
/// function was then left in the middle, and what it had allocated is never freed. One thread at a time may call.
bool run_while_memory_lasts(void (*function)(void*), void* argument);

/// Calls `function(argument)` on a stack of 2 MiB or, if the kernel has no memory for it, on a spare one of 128 KiB.
/// One thread at a time may call.
void run_on_own_stack(void (*function)(void*), void* argument);

}  // namespace fp32shim
