// Keeps the call sites of an entry point in a table that is indexed by a hash of the return address. A place in the
// table is called a way. When a site is added, hash functions are tried, and the table is doubled, until no two sites
// share a way. So the code of an entry point has to check only one way.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "shim/entry/entry_layout.h"
#include "system/hash.hpp"

namespace fp32shim {

struct Site;

/// The hash function of a table. The entry points (entry/*.S) compute the same value as way_of().
struct SiteTableHash {
    std::uint64_t multiplier = 0;
    std::uint64_t mask = 0;  ///< number of entries in the table (a power of two) minus 1

    std::size_t way_of(std::uintptr_t return_address) const {
        return (return_address * multiplier >> FP32SHIM_TABLE_SHIFT) & mask;
    }
};

constexpr std::size_t min_ways = 8;
constexpr std::size_t max_ways = std::size_t{1} << (64 - FP32SHIM_TABLE_SHIFT);

/// Returns number `i` of a sequence of unrelated odd numbers.
constexpr std::uint64_t nth_multiplier(std::uint64_t i) {
    return system::splitmix64((i + 1) * system::golden_ratio) | 1;
}

/// Returns the hash function of the smallest table, of at least `ways` entries, in which every return address has its
/// own entry. If there is no such table, returns the hash function of the largest table. `all_of(accept)` calls
/// `accept` with each address until `accept` returns false.
template <class AllOf>
SiteTableHash find_collision_free_hash(std::size_t ways, AllOf all_of) {
    constexpr std::uint64_t tries = 16;
    for (;; ways *= 2) {
        // `taken` has one bit for each entry of the table. The bit is set if some address is hashed to this entry.
        // `taken` has at most 2 KiB, and all of the loop together 4 KiB, because this code may run in a signal
        // handler.
        const std::size_t words = (ways + 63) / 64;
        auto* const taken = static_cast<std::uint64_t*>(__builtin_alloca(words * sizeof(std::uint64_t)));
        for (std::uint64_t i = 0; i < tries; ++i) {
            const SiteTableHash hash{nth_multiplier(i), ways - 1};
            std::fill_n(taken, words, 0);
            bool collides = false;
            all_of([&](std::uintptr_t address) {
                const std::size_t way = hash.way_of(address);
                const std::uint64_t bit = std::uint64_t{1} << way % 64;
                collides = (taken[way / 64] & bit) != 0;
                taken[way / 64] |= bit;
                return !collides;
            });
            if (!collides || (ways == max_ways && i + 1 == tries)) return hash;
        }
    }
}

/// Puts a live call site into its entry point's table. Lock-free. If another thread replaces the table at the same
/// time, the site may be left out; the next call from the site then adds it.
void insert_into_site_table(Site& site);

}  // namespace fp32shim
