// Allocates memory for data that is kept forever, such as call sites, descriptions of loaded objects, and names. The
// memory comes from the kernel and is never freed. So the program's malloc is not called, and readers need no lock.
#pragma once

#include <atomic>
#include <cstddef>
#include <new>
#include <string_view>
#include <utility>

namespace fp32shim {

/// Returns zeroed memory, aligned to 64 bytes. If the kernel has no memory left, returns nullptr and, the first time,
/// prints one line on stderr. Is meant for data whose amount grows with the number of different calls, and without
/// which products can still run. Thread-safe and lock-free.
void* arena_try_allocate(std::size_t size);

/// Returns zeroed memory, aligned to 64 bytes; never nullptr. If the kernel has no memory left, takes it from a
/// reserve. If the reserve is used up too, prints one line on stderr and ends the process. Is meant for data without
/// which no product can run, and of which each loaded object needs only a little.
void* arena_allocate(std::size_t size);

template <class T, class... Arguments>
T* arena_new(Arguments&&... arguments) {
    return new (arena_allocate(sizeof(T))) T{std::forward<Arguments>(arguments)...};
}

/// Makes an object in zeroed memory. Returns nullptr if there is no memory.
template <class T, class... Arguments>
T* arena_try_new(Arguments&&... arguments) {
    void* memory = arena_try_allocate(sizeof(T));
    return memory == nullptr ? nullptr : new (memory) T{std::forward<Arguments>(arguments)...};
}

/// Puts `fresh` at the front of a list that is linked by the member `next`. Readers may walk the list at any time.
/// Thread-safe and lock-free.
template <class Head, class Node>
void push_front(std::atomic<Head>& head, Node* fresh) {
    fresh->next = head.load(std::memory_order_relaxed);
    while (!head.compare_exchange_weak(fresh->next, fresh, std::memory_order_release, std::memory_order_relaxed)) {
    }
}

/// Returns a copy of `text` that is followed by a NUL and never freed.
std::string_view arena_copy(std::string_view text);

/// Returns a copy like arena_copy(); its data() is nullptr if there is no memory.
std::string_view arena_try_copy(std::string_view text);

}  // namespace fp32shim
