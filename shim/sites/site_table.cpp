#include "shim/sites/site_table.hpp"

#include "shim/entry/gate.hpp"
#include "shim/entry/site.hpp"
#include "shim/memory/arena.hpp"

namespace fp32shim {

/// A hash table of the call sites of one entry point, which assembly reads. Never freed, because a call may still be
/// reading it. Each table that replaces another has at least twice as many entries (ways).
struct SiteTable {
    SiteTableHash hash;

    std::atomic<Site*>& way(std::size_t number) { return reinterpret_cast<std::atomic<Site*>*>(this + 1)[number]; }
};

static_assert(offsetof(SiteTableHash, multiplier) == 0 && offsetof(SiteTableHash, mask) == 8 &&
                  sizeof(SiteTable) == 16,
              "read by shim/entry/x86_64.S and aarch64.S");

namespace {

/// The call site in every unused entry of a table. Its return address is 0, which matches no call.
constinit Site empty_site{};

/// Returns a new table, or nullptr if there is no memory.
SiteTable* new_table(SiteTableHash hash) {
    const std::size_t ways = hash.mask + 1;
    auto* table = static_cast<SiteTable*>(arena_try_allocate(sizeof(SiteTable) + ways * sizeof(std::atomic<Site*>)));
    if (table == nullptr) return nullptr;
    table->hash = hash;
    for (std::size_t i = 0; i < ways; ++i) table->way(i).store(&empty_site, std::memory_order_relaxed);
    return table;
}

/// Returns the return address of the call site in entry `way`, or 0 if the site is dead or now belongs in another
/// entry.
std::uintptr_t address_in(SiteTable& table, std::size_t way) {
    const Site* site = table.way(way).load(std::memory_order_acquire);
    const std::uintptr_t address = site->return_address.load(std::memory_order_relaxed);
    return is_live_return_address(address) && table.hash.way_of(address) == way ? address : 0;
}

/// Returns true if `accept` returns true for the return addresses of all live call sites in `table`, except for the
/// return address `except`.
template <class Accept>
bool all_addresses_pass(SiteTable* table, std::uintptr_t except, Accept accept) {
    if (table == nullptr) return true;
    for (std::size_t way = 0; way <= table->hash.mask; ++way) {
        const std::uintptr_t address = address_in(*table, way);
        if (address != 0 && address != except && !accept(address)) return false;
    }
    return true;
}

/// Returns a larger table with the live call sites of `old` (which may be nullptr) and with `site`, whose return
/// address is `address`. Returns nullptr if there is no memory.
SiteTable* table_with(SiteTable* old, Site& site, std::uintptr_t address) {
    const std::size_t ways = old == nullptr ? min_ways : 2 * (old->hash.mask + 1);
    SiteTable* table = new_table(find_collision_free_hash(ways, [&](auto accept) {
        if (accept(address)) all_addresses_pass(old, address, accept);
    }));
    if (table == nullptr) return nullptr;
    for (std::size_t way = 0; old != nullptr && way <= old->hash.mask; ++way) {
        const std::uintptr_t other = address_in(*old, way);
        if (other == 0) continue;
        Site* held = old->way(way).load(std::memory_order_acquire);
        table->way(table->hash.way_of(other)).store(held, std::memory_order_relaxed);
    }
    table->way(table->hash.way_of(address)).store(&site, std::memory_order_relaxed);
    return table;
}

}  // namespace

void insert_into_site_table(Site& site) {
    const std::uintptr_t address = site.return_address.load(std::memory_order_relaxed);
    if (!is_live_return_address(address)) return;
    std::atomic<SiteTable*>& table_of_entry = fp32shim_site_tables[site.entry];
    SiteTable* table = table_of_entry.load(std::memory_order_acquire);
    if (table != nullptr) {
        const std::size_t way = table->hash.way_of(address);
        const std::uintptr_t held = address_in(*table, way);
        if (held == 0 || held == address || table->hash.mask + 1 == max_ways) {
            table->way(way).store(&site, std::memory_order_release);
            return;
        }
    }
    SiteTable* larger = table_with(table, site, address);
    if (larger == nullptr) {
        if (table != nullptr) table->way(table->hash.way_of(address)).store(&site, std::memory_order_release);
        return;
    }
    table_of_entry.compare_exchange_strong(table, larger, std::memory_order_acq_rel);
}

}  // namespace fp32shim
