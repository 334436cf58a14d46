// operator new of this library. The code that reads the settings allocates by it, in policy/ and in the standard
// library. A program may have reached its limit of memory long before its first product, and a failure of the shim
// must not end it.
#pragma once

namespace fp32shim {

/// Calls `function(argument)`. Returns true if the function returned; false if memory ran out during the call. The
/// function was then left in the middle, and what it had allocated is never freed. One thread at a time may call.
bool run_while_memory_lasts(void (*function)(void*), void* argument);

}  // namespace fp32shim
