#include "shim/sites/find_site.hpp"

#include "shim/blas/govern/express.hpp"
#include "shim/blas/govern/govern.hpp"
#include "shim/cublas/govern/govern.hpp"
#include "shim/entry/gate.hpp"
#include "shim/loader/elf/objects.hpp"
#include "shim/loader/elf/readers.hpp"
#include "shim/loader/provider.hpp"
#include "shim/settings/settings.hpp"
#include "shim/sites/dlsym_entries.hpp"
#include "shim/sites/known_sites.hpp"
#include "shim/sites/site_table.hpp"
#include "shim/thread/running.hpp"
#include "system/cpu_features.hpp"
#include "system/kept_state.hpp"
#include "system/signal_hold.hpp"

namespace fp32shim {
namespace {

/// Returns true if calls from this call site have to pass through the shim, because they may be changed or recorded.
/// Otherwise the entry point jumps to the library.
bool needs_gate(Site& site) {
    if (site.provider == nullptr) return false;
    if (site.runs_batch_one_by_one()) return true;
    const Settings& in_force = settings();
    if (in_force.forward_everything || !site.is_blas) return false;
    if (site.function->convention == CallingConvention::driver) return in_force.asks_kernels;
    return is_of_cublas(site.function->convention) ? cublas::needs_gate(site, in_force)
                                                   : blas::needs_gate(site, in_force);
}

void* gate_of(const Site& site) {
    const CallingConvention convention = site.function->convention;
    if (convention == CallingConvention::cublas || convention == CallingConvention::driver)
        return reinterpret_cast<void*>(&fp32shim_cublas_gate);
    const bool takes_express_gate =
        blas::may_take_express_lane(site, settings()) || site.forwards_while_bound.load(std::memory_order_relaxed);
    return reinterpret_cast<void*>(takes_express_gate ? &fp32shim_express_gate : &fp32shim_govern_gate);
}

/// Sets the jump target of the call site by the settings in force. Clears the decision and the plan that were kept
/// under older settings.
void refresh(Site& site) {
    // Two threads that refresh a call site at the same time may store their targets in the wrong order. So a thread
    // begins again if the settings have changed meanwhile.
    std::uint32_t count = 0;
    do {
        count = settings_change_count();
        site.cpu.decision.store(0, std::memory_order_relaxed);
        site.cpu.express.store(0, std::memory_order_relaxed);
        site.cublas.plan.store(0, std::memory_order_relaxed);
        const bool is_governed = needs_gate(site);
        site.forwards_while_bound.store(!is_governed && site.by_importers, std::memory_order_relaxed);
        const bool is_gated = is_governed || site.by_importers;
        site.target.store(is_gated ? gate_of(site) : site.real, std::memory_order_release);
    } while (count != settings_change_count());
}

/// Returns true if a call site that was bound before further objects were loaded would be bound to the same function
/// now.
bool stays_bound(Site& site) {
    const elf::ReadGuard reading;
    const std::uint64_t stamp = load_generation();
    if (site.binding_stamp.load(std::memory_order_relaxed) == stamp) return true;
    const FunctionBinding binding = find_binding(site.caller, static_cast<FunctionIndex>(site.routine - functions));
    // If no object that imports the function is left, the call site keeps its provider while that is loaded.
    const bool stays = binding.by_importers ? binding.address == site.real && binding.ambiguous == site.ambiguous
                                            : elf::is_in_loader_list(site.provider->map) &&
                                                  loaded_object(site.provider->map) == site.provider;
    if (stays) site.binding_stamp.store(stamp, std::memory_order_relaxed);
    return stays;
}

bool is_gone(const LoadedObject* object) {
    return object != nullptr && !object->loaded.load(std::memory_order_acquire);
}

}  // namespace

Site* find_site(EntryIndex entry, std::uintptr_t return_address) {
    const system::ErrnoAndFloatGuard kept;
    // A library that the shim has called may jump to another entry point. Then the call returns into the shim, and
    // the return address does not tell which library made the jump.
    const bool from_ourselves = elf::is_own_code(return_address);
    LoadedObject* caller_behind_shim = from_ourselves ? running_library() : nullptr;
    Site* site = find_known_site(entry, return_address, caller_behind_shim);
    if (site == nullptr) {
        // Some unloads bypass the shim's dlclose: those by the C library, and by a library that is bound to another
        // dlclose. They are noticed here.
        forget_unloaded_objects();
        site = from_ourselves ? nullptr : take_over_site(entry, return_address);
    }
    if (site == nullptr) {
        // Signals are held, because the new site and its memory would be lost if a signal handler left by siglongjmp.
        const system::SignalHold hold;
        call_when_settings_change(refresh_sites);
        site = make_site(entry, return_address, caller_behind_shim);
        if (!is_existing_shared_site(*site)) {
            // The site is refreshed before other threads can see it, and again in case the settings changed before it
            // was published.
            refresh(*site);
            publish_site(site, is_shared_site(*site) ? return_address_of_shared_site : return_address);
            refresh(*site);
        }
    }
    if (!from_ourselves && !is_shared_site(*site)) insert_into_site_table(*site);
    return site;
}

Site* rebound_site(Site* site) {
    // Two threads may each have made a site for this entry point and return address. Then find_site() may return the
    // second of these sites, which has to be checked too.
    while (!is_binding_current(*site) && !stays_bound(*site)) {
        site->was_rebound = true;  // other threads may still be using the old site
        site->return_address.store(0, std::memory_order_release);
        site = find_site(site->entry, site->kept_return_address.load(std::memory_order_relaxed));
    }
    return site;
}

void refresh_sites() { for_each_live_site(refresh); }

void forget_unloaded_objects() {
    {
        const elf::ReadGuard reading;
        if (!mark_unloaded_objects()) return;
    }
    // Call sites are marked as dead first, because a freed entry point may be reused at once, and called from the
    // same address.
    for_each_live_site([](Site& site) {
        if (is_gone(site.caller) || is_gone(site.provider) || is_gone(site.caller_behind_shim))
            site.return_address.store(0, std::memory_order_release);
    });
    forget_unloaded_dlsym_entries();
}

}  // namespace fp32shim

extern "C" fp32shim::Site* fp32shim_find_site(fp32shim::EntryIndex entry, std::uintptr_t return_address) {
    return fp32shim::find_site(entry, return_address);
}

#if defined(__x86_64__)
extern "C" int fp32shim_vector_bytes() {
    using namespace fp32shim::system;
    if (processor_has(CpuFeature::avx512f)) return 64;
    return processor_has(CpuFeature::avx) ? 32 : 16;
}
#endif
