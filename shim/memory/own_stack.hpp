// A stack of this library's own, for work that needs more than a thread of 16 KB has.
#pragma once

namespace fp32shim {

/// Calls `function(argument)` on a stack of 2 MiB or, if the kernel has no memory for it, on a spare one of 128 KiB.
/// One thread at a time may call.
void run_on_own_stack(void (*function)(void*), void* argument);

}  // namespace fp32shim
