// Holds all call sites in chains. A hash of entry point and return address selects the chain (bucket) of a site; if
// the caller is outside every loaded object, a hash of the entry point alone. Chains grow at the head and are never
// shortened, so readers need no lock.
#pragma once

#include "shim/entry/site.hpp"

namespace fp32shim {

/// Returns the live call site of this entry point and return address, or nullptr. Site::caller_behind_shim explains
/// `caller_behind_shim`.
Site* find_known_site(EntryIndex entry, std::uintptr_t return_address, const LoadedObject* caller_behind_shim);

/// Returns memory for a call site, or nullptr if there is none. Reuses a dead site in the same hash bucket if no
/// running code can reach it, so that a program that loads and unloads a plugin again and again needs no more memory.
Site* allocate_site(EntryIndex entry, std::uintptr_t return_address, const LoadedObject* caller);

/// Returns the call site that all calls from the object `caller` to this entry point share if memory is short. If the
/// shared site does not exist yet, returns memory for it, which is in no chain. Calls that share a site are governed
/// like others, but their location in the object is unknown.
Site* obtain_shared_site(EntryIndex entry, const LoadedObject* caller, const LoadedObject* caller_behind_shim);

/// Gives a complete call site its return address, which makes it live, and links it into the chain of its bucket.
void publish_site(Site* site, std::uintptr_t return_address);

/// Gives this return address to an older call site of the same entry point, and returns that site. The old and the
/// new caller must be outside every loaded object. Returns nullptr if the new caller is in an object, or if so far
/// few call sites have callers outside every object.
Site* take_over_site(EntryIndex entry, std::uintptr_t return_address);

extern constinit std::atomic<Site*> site_buckets[4096];

template <class Visit>
void for_each_live_site(Visit visit) {
    for (std::atomic<Site*>& bucket : site_buckets)
        for (Site* site = bucket.load(std::memory_order_acquire); site != nullptr; site = site->next)
            if (is_live_return_address(site->return_address.load(std::memory_order_acquire))) visit(*site);
}

}  // namespace fp32shim
