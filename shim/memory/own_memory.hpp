// operator new of this library. The code that reads the settings allocates by it, in policy/ and in the standard
// library. A program may have reached its limit of memory long before its first product, and a failure of the shim
// must not end it.
#pragma once

namespace fp32shim {

/// Calls `function(argument)`. Returns true if it came to its end; false if memory ran out. The function was then
/// left in the middle, and what it had allocated is never freed. To be called by one thread at a time.
bool run_while_memory_lasts(void (*function)(void*), void* argument);

}  // namespace fp32shim
