// The sites of an entry point, in a table indexed by a hash of the return address. When a site is added, hash
// functions are tried, and the table is doubled, until no two sites share an entry (way). So an entry point has to
// check only one way.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "shim/entry/entry_layout.h"
#include "system/hash.hpp"

namespace fp32shim {

struct Site;

/// The hash function of a table. The entry points (entry/*.S) compute the same value as `way_of`.
struct TableShape {
    std::uint64_t multiplier = 0;
    std::uint64_t mask = 0;  ///< number of entries in the table (a power of two) minus 1

    std::size_t way_of(std::uintptr_t return_address) const {
        return (return_address * multiplier >> FP32SHIM_TABLE_SHIFT) & mask;
    }
};

constexpr std::size_t min_ways = 8;
constexpr std::size_t max_ways = std::size_t{1} << (64 - FP32SHIM_TABLE_SHIFT);

/// One bit for each entry of a table: true if an address has that entry.
class TakenWays {
  public:
    /// Returns the size in bytes of the bits for a number of entries.
    static constexpr std::size_t size(std::size_t ways) { return (ways + 63) / 64 * sizeof(std::uint64_t); }

    /// Clears the bits in `memory`, which has size(ways) bytes.
    TakenWays(void* memory, std::size_t ways) : words_(static_cast<std::uint64_t*>(memory)) {
        for (std::size_t word = 0; word < (ways + 63) / 64; ++word) words_[word] = 0;
    }
    /// Marks entry `way` of a table as taken. Returns false if it was taken already.
    bool mark(std::size_t way) {
        const std::uint64_t bit = std::uint64_t{1} << (way % 64);
        const bool was_free = (words_[way / 64] & bit) == 0;
        words_[way / 64] |= bit;
        return was_free;
    }

  private:
    std::uint64_t* words_;
};

/// Returns number `i` of a sequence of unrelated odd numbers.
constexpr std::uint64_t multiplier_number(std::uint64_t i) {
    return system::random_number((i + 1) * system::golden_ratio) | 1;
}

/// Returns the hash function of the smallest table, of at least `ways` entries, in which every address has its own
/// entry. If there is none, returns that of the largest table. `all_of(accept)` calls `accept` with each address
/// until it returns false.
template <class AllOf>
TableShape shape_for(std::size_t ways, AllOf all_of) {
    constexpr std::uint64_t tries = 16;
    for (;; ways *= 2) {
        void* const marks = __builtin_alloca(TakenWays::size(ways));  // at most 2 KiB, also in a signal handler
        for (std::uint64_t i = 0; i < tries; ++i) {
            const TableShape shape{multiplier_number(i), ways - 1};
            TakenWays taken(marks, ways);
            bool collides = false;
            all_of([&](std::uintptr_t address) {
                collides = !taken.mark(shape.way_of(address));
                return !collides;
            });
            if (!collides || (ways == max_ways && i + 1 == tries)) return shape;
        }
    }
}

/// Puts a live site into its entry point's table. Lock-free. If another thread replaces the table at the same time,
/// the site may be left out; its next call then adds it.
void put_into_table(Site& site);

}  // namespace fp32shim
