// Names that the shim exports although no loaded library has the function.
//
// Without the shim, the loader stores NULL for a weak reference to such a name, and programs test for that:
//
//     if (dgemm_64_) dgemm_64_(…); else dgemm_(…);
//
// So the name must not lead to the shim. The file exports all names as functions. While the loader relocates this
// library, it calls a function of missing_names.cpp, which makes the names indirect (STT_GNU_IFUNC) in this process's
// copy of the symbol table. From then on the loader asks fp32shim_resolve() whenever it binds a reference. References
// that it bound before are cleared there.
#pragma once

#include "shim/table/functions.hpp"

namespace fp32shim {

/// Returns the address of the function's entry point.
void* entry_point_of(FunctionIndex function);

}  // namespace fp32shim
