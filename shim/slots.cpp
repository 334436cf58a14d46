#include "shim/slots.hpp"

#include <atomic>

#include "shim/elf/objects.hpp"
#include "shim/entry_layout.h"
#include "shim/gate.hpp"

namespace fp32shim {
namespace {

// A slot is free while its address is nullptr. `function` is stored before `address` becomes visible to others than
// the thread that claims the slot: claiming is a compare-and-swap from nullptr to `claimed`.
struct Slot {
    std::atomic<void*> address;
    std::atomic<FunctionIndex> function;
};

constinit Slot slots[FP32SHIM_SLOT_COUNT]{};
char claimed_mark;
void* const claimed = &claimed_mark;

void* entry_of(int slot) { return const_cast<char*>(fp32shim_slots) + slot * FP32SHIM_SLOT_SPACING; }

}  // namespace

void* slot_for(FunctionIndex function, void* address) {
    for (int i = 0; i < FP32SHIM_SLOT_COUNT; ++i) {
        Slot& slot = slots[i];
        void* held = slot.address.load(std::memory_order_acquire);
        if (held == address && slot.function.load(std::memory_order_relaxed) == function) return entry_of(i);
        if (held != nullptr) continue;
        if (!slot.address.compare_exchange_strong(held, claimed, std::memory_order_acquire)) continue;
        slot.function.store(function, std::memory_order_relaxed);
        slot.address.store(address, std::memory_order_release);
        return entry_of(i);
    }
    return nullptr;
}

SlotBinding slot_binding(EntryIndex entry) {
    const Slot& slot = slots[entry - function_count];
    void* address = slot.address.load(std::memory_order_acquire);
    return {slot.function.load(std::memory_order_relaxed), address};
}

void forget_unloaded_slots() {
    for (Slot& slot : slots) {
        void* held = slot.address.load(std::memory_order_acquire);
        if (held == nullptr || held == claimed) continue;
        if (elf::object_at(reinterpret_cast<ElfW(Addr)>(held)) == nullptr)
            slot.address.compare_exchange_strong(held, nullptr, std::memory_order_release);
    }
}

}  // namespace fp32shim
