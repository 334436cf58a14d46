#include "shim/sites/dlsym_entries.hpp"

#include <atomic>

#include "shim/entry/entry_layout.h"
#include "shim/entry/gate.hpp"
#include "shim/loader/elf/objects.hpp"
#include "system/fork_safe_lock.hpp"
#include "system/signal_hold.hpp"

namespace fp32shim {
namespace {

/// The function that an entry point calls. `address` is stored last, so that a thread that sees it also sees
/// `function`. If the function's library was unloaded, the entry point may be reused. Until then it keeps the
/// address, so that a program that still calls the entry point behaves as without the shim.
struct DlsymEntry {
    std::atomic<void*> address;
    std::atomic<FunctionIndex> function;
    std::atomic<bool> is_abandoned;
};

constinit DlsymEntry entries[FP32SHIM_DLSYM_ENTRY_COUNT]{};
constinit system::ForkSafeLock lock;  // held by name lookups; calls never take it

void* code_of(int number) {
    return const_cast<char*>(fp32shim_dlsym_entries) + number * FP32SHIM_DLSYM_ENTRY_SPACING;
}

void* claim_entry(FunctionIndex function, void* address) {
    int free = -1;
    for (int i = 0; i < FP32SHIM_DLSYM_ENTRY_COUNT; ++i) {
        DlsymEntry& entry = entries[i];
        void* held = entry.address.load(std::memory_order_acquire);
        const bool can_be_reused = entry.is_abandoned.load(std::memory_order_relaxed);
        if (held == address && entry.function.load(std::memory_order_relaxed) == function) {
            entry.is_abandoned.store(false, std::memory_order_relaxed);
            return code_of(i);
        }
        if (free < 0 && (held == nullptr || can_be_reused)) free = i;
        if (held == nullptr) break;  // entries are used in order, so all later ones are unused
    }
    if (free < 0) return nullptr;
    DlsymEntry& entry = entries[free];
    entry.function.store(function, std::memory_order_relaxed);
    entry.is_abandoned.store(false, std::memory_order_relaxed);
    entry.address.store(address, std::memory_order_release);
    return code_of(free);
}

}  // namespace

void* known_dlsym_entry(FunctionIndex function, void* address) {
    for (int i = 0; i < FP32SHIM_DLSYM_ENTRY_COUNT; ++i) {
        const DlsymEntry& entry = entries[i];
        void* held = entry.address.load(std::memory_order_acquire);
        if (held == nullptr) break;
        if (held == address && entry.function.load(std::memory_order_relaxed) == function &&
            !entry.is_abandoned.load(std::memory_order_relaxed))
            return code_of(i);
    }
    return nullptr;
}

void* dlsym_entry_for(FunctionIndex function, void* address) {
    if (void* known = known_dlsym_entry(function, address)) return known;
    const system::SignalHold hold;
    if (!lock.acquire()) return nullptr;
    void* code = claim_entry(function, address);
    lock.release();
    return code;
}

DlsymBinding dlsym_binding(EntryIndex index) {
    const DlsymEntry& entry = entries[index - function_count];
    void* address = entry.address.load(std::memory_order_acquire);
    return {entry.function.load(std::memory_order_relaxed), address};
}

void forget_unloaded_dlsym_entries() {
    for (DlsymEntry& entry : entries) {
        void* held = entry.address.load(std::memory_order_acquire);
        if (held == nullptr) return;
        if (elf::object_at(reinterpret_cast<ElfW(Addr)>(held)) == nullptr)
            entry.is_abandoned.store(true, std::memory_order_relaxed);
    }
}

}  // namespace fp32shim
