#include "shim/thread/thread_context.hpp"

#include <pthread.h>
#include <sys/mman.h>

#include <atomic>
#include <new>

#include "system/signal_hold.hpp"

namespace fp32shim {

// The TLS model is initial-exec, because dynamic thread-local storage would call the allocator on first use in each
// thread.
constinit thread_local ThreadContext* current_thread_context = nullptr;

namespace {

void* map_zeroed_pages(std::size_t size) {
    void* pages = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return pages == MAP_FAILED ? nullptr : pages;
}

void unmap(void* context) {
    const system::SignalHold hold;
    current_thread_context = nullptr;
    auto* ending = static_cast<ThreadContext*>(context);
    if (ending->writer != nullptr) ending->recording->detach_thread(ending->writer);
    for (const std::span<char> part : ending->parts)
        if (!part.empty()) munmap(part.data(), part.size());
    munmap(context, sizeof(ThreadContext));
}

/// Returns a pthread key whose destructor unmaps a thread's context. Returns -1 if the process has no key left;
/// contexts then stay mapped until the process ends. So does the context of a thread that blocks a signal that has a
/// handler, if its key is not one of the first 32 (SignalHold::may_set_thread_value()).
int thread_exit_key() {
    constexpr int not_made = -2;
    static constinit std::atomic<int> key{not_made};
    int known = key.load(std::memory_order_acquire);
    if (known != not_made) return known;
    pthread_key_t fresh;
    const int made = pthread_key_create(&fresh, unmap) == 0 ? static_cast<int>(fresh) : -1;
    if (key.compare_exchange_strong(known, made)) return made;
    if (made >= 0) pthread_key_delete(fresh);
    return known;
}

}  // namespace

void* make_thread_part(ThreadPart part, std::size_t size) {
    ThreadContext* const context = thread_context();
    if (context == nullptr) return nullptr;
    std::span<char>& memory = context->parts[static_cast<std::size_t>(part)];
    // Signals are held, because a signal handler may multiply too, or leave by siglongjmp.
    const system::SignalHold hold;
    if (!memory.empty()) return memory.data();
    void* const pages = map_zeroed_pages(size);
    if (pages != nullptr) memory = {static_cast<char*>(pages), size};
    return pages;
}

ThreadContext* thread_context() {
    if (current_thread_context != nullptr) return current_thread_context;
    const system::SignalHold hold;  // a signal handler may multiply too, or leave by siglongjmp
    if (current_thread_context != nullptr) return current_thread_context;
    void* pages = map_zeroed_pages(sizeof(ThreadContext));
    if (pages == nullptr) return nullptr;
    current_thread_context = new (pages) ThreadContext;
    const int key = thread_exit_key();
    if (key >= 0 && hold.may_set_thread_value(static_cast<pthread_key_t>(key)))
        pthread_setspecific(static_cast<pthread_key_t>(key), current_thread_context);
    return current_thread_context;
}

}  // namespace fp32shim
