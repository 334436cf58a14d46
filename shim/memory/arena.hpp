// Memory for what the shim remembers: call sites, records of objects, names. Taken from the kernel, never given back,
// so that no malloc replacement is entered on the call path and readers need no lock.
#pragma once

#include <cstddef>
#include <new>
#include <string_view>
#include <utility>

namespace fp32shim {

/// Zeroed memory, aligned to 64 bytes; never nullptr (where the kernel has none left, the process gets one line and
/// ends as it would at its own next allocation). Thread-safe, lock-free.
void* arena_allocate(std::size_t size);

template <class T, class... Arguments>
T* arena_new(Arguments&&... arguments) {
    return new (arena_allocate(sizeof(T))) T{std::forward<Arguments>(arguments)...};
}

/// A copy that outlives the object which owns the text, ending in a NUL.
std::string_view arena_copy(std::string_view text);

}  // namespace fp32shim
