// All sites, by entry point and return address. Chains grow at the head and are never shortened, so readers need no
// lock.
#pragma once

#include "shim/entry/site.hpp"

namespace fp32shim {

/// Returns the live site of this entry point and return address, or nullptr. `caller_behind_shim`: see Site.
Site* find_known_site(EntryIndex entry, std::uintptr_t return_address, const LoadedObject* caller_behind_shim);

/// Returns memory for a site, or nullptr if there is none. Reuses a dead site in the same hash bucket if no running
/// code can reach it. So a program that loads and unloads a plugin again and again does not grow.
Site* allocate_site(EntryIndex entry, std::uintptr_t return_address, const LoadedObject* caller);

/// Returns the site that all calls from an object share if memory is short. If it does not exist yet, returns memory
/// for it, which is in no chain. Shared sites are governed like others, but the location of their calls in the object
/// is unknown.
Site* obtain_shared_site(EntryIndex entry, const LoadedObject* caller, const LoadedObject* caller_behind_shim);

/// Gives a complete site its return address, which makes it alive. Links it into the chain of its bucket.
void publish_site(Site* site, std::uintptr_t return_address);

/// Gives this return address to an older site of the same entry point, and returns that site. The callers of both
/// have to be outside every object. Returns nullptr if this caller is in an object, or if there are few such sites
/// so far.
Site* take_over_site(EntryIndex entry, std::uintptr_t return_address);

extern constinit std::atomic<Site*> site_buckets[4096];

template <class Visit>
void for_each_live_site(Visit visit) {
    for (std::atomic<Site*>& bucket : site_buckets)
        for (Site* site = bucket.load(std::memory_order_acquire); site != nullptr; site = site->next)
            if (is_live_return_address(site->return_address.load(std::memory_order_acquire))) visit(*site);
}

}  // namespace fp32shim
