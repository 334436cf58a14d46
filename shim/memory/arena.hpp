// Memory for lasting things: call sites, records of objects, names. Taken from the kernel and never given back, so
// that the call path enters no malloc replacement and readers need no lock.
#pragma once

#include <cstddef>
#include <new>
#include <string_view>
#include <utility>

namespace fp32shim {

/// Returns zeroed memory, aligned to 64 bytes; nullptr, and one line on stderr, if the kernel has none left. For
/// things whose number a program's calls decide, and that a product can do without. Thread-safe, lock-free.
void* arena_try_allocate(std::size_t size);

/// Returns the same, and never nullptr: if the kernel has no memory left, takes it from a reserve. For things without
/// which no product can run, of which a process has a few for each loaded object. Ends the process with one line on
/// stderr if the reserve is used up, too.
void* arena_allocate(std::size_t size);

template <class T, class... Arguments>
T* arena_new(Arguments&&... arguments) {
    return new (arena_allocate(sizeof(T))) T{std::forward<Arguments>(arguments)...};
}

/// Returns nullptr if there is no memory.
template <class T, class... Arguments>
T* arena_try_new(Arguments&&... arguments) {
    void* memory = arena_try_allocate(sizeof(T));
    return memory == nullptr ? nullptr : new (memory) T{std::forward<Arguments>(arguments)...};
}

/// Returns a copy of the text, with a NUL behind it, that is never freed.
std::string_view arena_copy(std::string_view text);

/// Returns the same; without data if there is no memory.
std::string_view arena_try_copy(std::string_view text);

}  // namespace fp32shim
