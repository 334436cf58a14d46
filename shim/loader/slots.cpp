#include "shim/loader/slots.hpp"

#include <atomic>

#include "shim/entry/entry_layout.h"
#include "shim/entry/gate.hpp"
#include "shim/loader/elf/objects.hpp"
#include "system/fork_safe_lock.hpp"
#include "system/signal_hold.hpp"

namespace fp32shim {
namespace {

/// An entry point for the function at `address`, which is stored last. A slot whose library was unloaded may be
/// reused; until then it keeps its address, so that a program which still calls it behaves as without the shim.
struct Slot {
    std::atomic<void*> address;
    std::atomic<FunctionIndex> function;
    std::atomic<bool> abandoned;
};

constinit Slot slots[FP32SHIM_SLOT_COUNT]{};
constinit system::ForkSafeLock lock;  // held by name lookups; calls never acquire it

void* entry_of(int slot) { return const_cast<char*>(fp32shim_slots) + slot * FP32SHIM_SLOT_SPACING; }

void* take_slot(FunctionIndex function, void* address) {
    int free = -1;
    for (int i = 0; i < FP32SHIM_SLOT_COUNT; ++i) {
        Slot& slot = slots[i];
        void* held = slot.address.load(std::memory_order_acquire);
        const bool is_abandoned = slot.abandoned.load(std::memory_order_relaxed);
        if (held == address && slot.function.load(std::memory_order_relaxed) == function) {
            slot.abandoned.store(false, std::memory_order_relaxed);
            return entry_of(i);
        }
        if (free < 0 && (held == nullptr || is_abandoned)) free = i;
        if (held == nullptr) break;  // slots are taken in order: none behind this one is in use
    }
    if (free < 0) return nullptr;
    Slot& slot = slots[free];
    slot.function.store(function, std::memory_order_relaxed);
    slot.abandoned.store(false, std::memory_order_relaxed);
    slot.address.store(address, std::memory_order_release);
    return entry_of(free);
}

void* known_slot(FunctionIndex function, void* address) {
    for (int i = 0; i < FP32SHIM_SLOT_COUNT; ++i) {
        const Slot& slot = slots[i];
        void* held = slot.address.load(std::memory_order_acquire);
        if (held == nullptr) break;
        if (held == address && slot.function.load(std::memory_order_relaxed) == function &&
            !slot.abandoned.load(std::memory_order_relaxed))
            return entry_of(i);
    }
    return nullptr;
}

}  // namespace

void* slot_for(FunctionIndex function, void* address) {
    if (void* known = known_slot(function, address)) return known;
    const system::SignalHold hold{system::SignalHold::all};
    if (!lock.acquire()) return nullptr;
    void* entry = take_slot(function, address);
    lock.release();
    return entry;
}

SlotBinding slot_binding(EntryIndex entry) {
    const Slot& slot = slots[entry - function_count];
    void* address = slot.address.load(std::memory_order_acquire);
    return {slot.function.load(std::memory_order_relaxed), address};
}

void forget_unloaded_slots() {
    for (Slot& slot : slots) {
        void* held = slot.address.load(std::memory_order_acquire);
        if (held == nullptr) return;
        if (elf::object_at(reinterpret_cast<ElfW(Addr)>(held)) == nullptr)
            slot.abandoned.store(true, std::memory_order_relaxed);
    }
}

}  // namespace fp32shim
