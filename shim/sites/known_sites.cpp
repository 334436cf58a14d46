#include "shim/sites/known_sites.hpp"

#include <iterator>

#include "shim/loader/elf/readers.hpp"
#include "shim/memory/arena.hpp"
#include "system/hash.hpp"

namespace fp32shim {

constinit std::atomic<Site*> site_buckets[4096]{};

namespace {

std::atomic<Site*>& bucket_of(EntryIndex entry, std::uintptr_t return_address) {
    const std::uint64_t key = return_address * system::golden_ratio + static_cast<std::uint64_t>(entry);
    return site_buckets[(key >> 40) % std::size(site_buckets)];
}

/// Returns the chain of the entry point's call sites whose callers are outside every loaded object. There is one
/// chain for all return addresses, because take_over_site() changes the return addresses.
std::atomic<Site*>& bucket_of_outside(EntryIndex entry) { return bucket_of(entry, 0); }

Site* find_in_bucket(const std::atomic<Site*>& bucket, EntryIndex entry, std::uintptr_t return_address,
                     const LoadedObject* caller_behind_shim) {
    for (Site* site = bucket.load(std::memory_order_acquire); site != nullptr; site = site->next)
        if (site->entry == entry && site->caller_behind_shim == caller_behind_shim &&
            site->return_address.load(std::memory_order_acquire) == return_address)
            return site;
    return nullptr;
}

// Code generated at run time may call from new addresses again and again. Call sites of one entry point whose callers
// are outside every loaded object differ only in their return address. So beyond this number of sites, a new address
// takes over the site of an older address. A thread that still uses the site for the older address is not affected.
constexpr std::size_t outside_limit = 256;
constinit std::atomic<std::size_t> next_to_take_over{0};

bool can_be_taken_over(const Site& site, EntryIndex entry) {
    return is_live_return_address(site.return_address.load(std::memory_order_acquire)) && site.entry == entry &&
           site.caller == nullptr && site.provider != nullptr;
}

}  // namespace

Site* find_known_site(EntryIndex entry, std::uintptr_t return_address, const LoadedObject* caller_behind_shim) {
    Site* site = find_in_bucket(bucket_of(entry, return_address), entry, return_address, caller_behind_shim);
    return site != nullptr ? site
                           : find_in_bucket(bucket_of_outside(entry), entry, return_address, caller_behind_shim);
}

void publish_site(Site* site, std::uintptr_t return_address) {
    site->return_address.store(return_address, std::memory_order_release);
    if (site->is_in_chain) return;  // the site reuses the memory of a dead site, which is still linked
    site->is_in_chain = true;
    push_front(site->caller == nullptr ? bucket_of_outside(site->entry) : bucket_of(site->entry, return_address),
               site);
}

Site* take_over_site(EntryIndex entry, std::uintptr_t return_address) {
    Site* const newest = bucket_of_outside(entry).load(std::memory_order_acquire);
    std::size_t count = 0;
    for (Site* site = newest; site != nullptr; site = site->next) count += can_be_taken_over(*site, entry);
    if (count < outside_limit) return nullptr;
    {
        const elf::ReadGuard reading;
        if (object_containing(return_address - 1) != nullptr) return nullptr;
    }
    std::size_t to_skip = next_to_take_over.fetch_add(1, std::memory_order_relaxed) % count;
    for (Site* site = newest; site != nullptr; site = site->next) {
        if (!can_be_taken_over(*site, entry)) continue;
        if (to_skip > 0) {
            --to_skip;
            continue;
        }
        std::uintptr_t old = site->return_address.load(std::memory_order_relaxed);
        if (!is_live_return_address(old) ||
            !site->return_address.compare_exchange_strong(old, return_address, std::memory_order_acq_rel))
            continue;  // another thread was faster
        site->kept_return_address.store(return_address, std::memory_order_relaxed);
        return site;
    }
    return nullptr;
}

// A dead call site, one whose caller or provider was unloaded, can be reused if its caller was unloaded. It can also
// be reused if it has the same caller as the new site, and this caller imports the function: the provider was
// unloaded then, and code that still calls it would crash without the shim as well.
Site* allocate_site(EntryIndex entry, std::uintptr_t return_address, const LoadedObject* caller) {
    for (Site* site = bucket_of(entry, return_address).load(std::memory_order_acquire); site != nullptr;
         site = site->next) {
        if (site->entry != entry || site->was_rebound || site->caller == nullptr) continue;
        const bool has_same_caller = site->caller == caller && !site->by_importers;
        if (!has_same_caller && site->caller->loaded.load(std::memory_order_acquire)) continue;
        std::uintptr_t dead = 0;
        if (site->return_address.compare_exchange_strong(dead, return_address_of_unfinished_site,
                                                         std::memory_order_acq_rel))
            return site;
    }
    auto* site = static_cast<Site*>(arena_try_allocate(sizeof(Site)));
    if (site != nullptr) site->return_address.store(return_address_of_unfinished_site, std::memory_order_relaxed);
    return site;
}

Site* obtain_shared_site(EntryIndex entry, const LoadedObject* caller, const LoadedObject* caller_behind_shim) {
    const std::atomic<Site*>& bucket =
        caller == nullptr ? bucket_of_outside(entry) : bucket_of(entry, return_address_of_shared_site);
    for (Site* site = bucket.load(std::memory_order_acquire); site != nullptr; site = site->next)
        if (site->entry == entry && site->caller == caller && site->caller_behind_shim == caller_behind_shim &&
            is_shared_site(*site))
            return site;
    auto* site = static_cast<Site*>(arena_allocate(sizeof(Site)));
    site->return_address.store(return_address_of_shared_site, std::memory_order_relaxed);
    return site;
}

}  // namespace fp32shim
