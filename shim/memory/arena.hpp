// Memory for lasting things: call sites, records of objects, names. Taken from the kernel and never given back, so
// that the call path enters no malloc replacement and readers need no lock.
#pragma once

#include <cstddef>
#include <new>
#include <string_view>
#include <utility>

namespace fp32shim {

/// Returns zeroed memory, aligned to 64 bytes; never nullptr. If the kernel has none left, ends the process with one
/// line on stderr, since its own next allocation would fail too. Thread-safe, lock-free.
void* arena_allocate(std::size_t size);

template <class T, class... Arguments>
T* arena_new(Arguments&&... arguments) {
    return new (arena_allocate(sizeof(T))) T{std::forward<Arguments>(arguments)...};
}

/// Returns a copy of the text, with a NUL behind it, that is never freed.
std::string_view arena_copy(std::string_view text);

}  // namespace fp32shim
