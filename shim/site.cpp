#include "shim/site.hpp"

#include <unistd.h>

#include <cerrno>

#include "record/stderr_line.hpp"
#include "shim/arena.hpp"
#include "shim/blas/routine.hpp"
#include "shim/call.hpp"
#include "shim/elf/objects.hpp"
#include "shim/elf/readers.hpp"
#include "shim/entry_layout.h"
#include "shim/gate.hpp"
#include "shim/imports.hpp"
#include "shim/settings.hpp"
#include "shim/slots.hpp"

namespace fp32shim {
namespace {

// All sites, by (entry, return address). Chains grow at the head and are never cut, so readers need no lock.
constexpr std::size_t bucket_count = 4096;
constinit std::atomic<Site*> buckets[bucket_count]{};

std::atomic<Site*>& bucket_of(EntryIndex entry, std::uintptr_t return_address) {
    const std::uint64_t key = return_address * 0x9e3779b97f4a7c15U + static_cast<std::uint64_t>(entry);
    return buckets[(key >> 40) % bucket_count];
}

Site* known_site(EntryIndex entry, std::uintptr_t return_address) {
    for (Site* site = bucket_of(entry, return_address).load(std::memory_order_acquire); site != nullptr;
         site = site->next) {
        if (site->entry == entry && site->return_address.load(std::memory_order_acquire) == return_address)
            return site;
    }
    return nullptr;
}

void remember(Site* site) {
    std::atomic<Site*>& bucket = bucket_of(site->entry, site->return_address.load(std::memory_order_relaxed));
    site->next = bucket.load(std::memory_order_relaxed);
    while (!bucket.compare_exchange_weak(site->next, site, std::memory_order_release, std::memory_order_relaxed)) {
    }
}

/// Puts the site where the entry point looks: see entry_*.S for the place.
void cache(Site* site) {
    const std::uintptr_t address = site->return_address.load(std::memory_order_relaxed);
#if defined(__x86_64__)
    const std::size_t way = address % FP32SHIM_CACHE_WAYS;
#else
    const std::size_t way = (address >> 2) % FP32SHIM_CACHE_WAYS;
#endif
    fp32shim_site_caches[static_cast<std::size_t>(site->entry) * FP32SHIM_CACHE_WAYS + way].store(
        site, std::memory_order_release);
}

Binding binding_of_slot(const SlotBinding& slot) { return {provider_at(slot.address), slot.address}; }

void say_ambiguous(const Function& function, const Binding& binding, std::string_view caller) {
    static constinit record::OncePerProcess said;
    if (!said.first()) return;
    std::string text = "several libraries provide ";
    text += function.name;
    text += " and its caller ";
    text += caller.empty() ? "(unknown code)" : caller;
    text += " imports it from none of them; using ";
    text += binding.provider->name;
    record::stderr_line(text);
}

/// A program left without a BLAS. Without the shim the loader would have refused to start it, or to resolve the call.
[[noreturn]] void end_without_provider(const Function& function, std::string_view caller) {
    std::string text = "no loaded library provides ";
    text += function.name;
    text += ", called from ";
    text += caller.empty() ? "unknown code" : caller;
    text +=
        "; if the program was linked with -lfp32shim, link its BLAS behind it with -Wl,--no-as-needed "
        "(-lfp32shim -Wl,--no-as-needed -lopenblas)";
    record::stderr_line(text);
    _exit(127);
}

/// A batch that no library provides, called through a weak reference that became non-NULL because we export it:
/// the plain gemm of the same name form does the work. Row of that gemm, or -1.
FunctionIndex gemm_for_missing_batch(const Function& function) {
    const Family& family = *function.family;
    if (family.batching == Batching::single || family.operation != blas::Operation::gemm) return -1;
    return blas::gemm_row_of(function);
}

Site* make_site(EntryIndex entry, std::uintptr_t return_address) {
    const elf::Reading reading;
    const auto code = static_cast<ElfW(Addr)>(return_address - 1);  // inside the call, also where it ends a function
    const link_map* caller = elf::object_at(code);
    const bool is_slot = entry >= function_count;
    const SlotBinding slot = is_slot ? slot_binding(entry) : SlotBinding{entry, nullptr};
    const Function& function = functions[slot.function];

    auto* site = static_cast<Site*>(arena_allocate(sizeof(Site)));
    site->entry = entry;
    site->function = &function;
    site->caller = caller;
    if (caller != nullptr) site->caller_name = arena_copy(elf::read_object(caller).name());

    Binding binding = is_slot ? binding_of_slot(slot) : find_binding(caller, slot.function);
    if (binding.address == nullptr) {
        const FunctionIndex gemm = gemm_for_missing_batch(function);
        if (gemm >= 0) binding = find_binding(caller, gemm);
        if (binding.address == nullptr) end_without_provider(function, site->caller_name);
        site->loops_over_gemm = true;
    }
    site->ambiguous = binding.ambiguous;
    if (binding.ambiguous) say_ambiguous(function, binding, site->caller_name);
    site->provider = binding.provider;
    site->real = binding.address;
    site->return_address.store(return_address, std::memory_order_relaxed);
    return site;
}

void refresh(Site& site) {
    site.verdict.store(0, std::memory_order_relaxed);
    site.target.store(needs_gate(site) ? reinterpret_cast<void*>(&fp32shim_govern_gate) : site.real,
                      std::memory_order_release);
}

template <class Visit>
void for_each_site(Visit visit) {
    for (std::atomic<Site*>& bucket : buckets)
        for (Site* site = bucket.load(std::memory_order_acquire); site != nullptr; site = site->next) visit(*site);
}

}  // namespace

Site* find_site(EntryIndex entry, std::uintptr_t return_address) {
    const int saved_errno = errno;
    Site* site = known_site(entry, return_address);
    if (site == nullptr) {
        site = make_site(entry, return_address);
        refresh(*site);
        remember(site);
    }
    cache(site);
    errno = saved_errno;
    return site;
}

void refresh_sites() {
    for_each_site([](Site& site) { refresh(site); });
}

void forget_unloaded_sites() {
    for_each_site([](Site& site) {
        if (site.return_address.load(std::memory_order_relaxed) == 0) return;
        const bool caller_gone = site.caller != nullptr && !is_loaded(site.caller);
        const bool provider_gone = site.provider != nullptr && site.provider->map == nullptr;
        if (caller_gone || provider_gone) site.return_address.store(0, std::memory_order_release);
    });
}

}  // namespace fp32shim

extern "C" fp32shim::Site* fp32shim_find_site(fp32shim::EntryIndex entry, std::uintptr_t return_address) {
    return fp32shim::find_site(entry, return_address);
}
