// Which of the table's functions an object imports: for which it has a relocation, also where it defines the name
// itself (PyPI's torch calls its own `sgemm_` through its procedure linkage table).
#pragma once

#include <link.h>

#include <cstdint>

#include "shim/functions.hpp"

namespace fp32shim {

/// The symbol number, in the object's own symbol table, of its import of `function`; -1 when it has none.
/// The first question about an object reads all its relocations; the answers are kept. Thread-safe, lock-free.
std::int32_t import_of(const link_map* object, FunctionIndex function);

/// Forgets the tables of objects that are no longer loaded.
void forget_unloaded_imports();

/// Whether the object is still in the loader's list.
bool is_loaded(const link_map* object);

}  // namespace fp32shim
