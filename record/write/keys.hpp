// A hash table of the keys of calls that one thread has counted, with the counters for each key. The table grows, and
// lies in private pages. A call takes the slow path only if its key is not in the table.
#pragma once

#include <cstddef>
#include <cstdint>

#include "record/format/format.hpp"
#include "system/hash.hpp"

namespace fp32shim::record {

/// Identifies a CounterRecord of a thread: the number of its segment, and its index in the segment in the low
/// counters_index_bits bits. So consecutive records of one segment have consecutive numbers.
using CountersNumber = std::uint32_t;
inline constexpr std::uint32_t counters_index_bits = 10;
static_assert(format::CounterSegment::capacity < 1U << counters_index_bits);

/// Maps keys to counters. The table is a member of a ThreadWriter, whose member `use_` guards it. An object of zeros
/// is an empty table. So the table is empty in a forked child, where the kernel zeroes the ThreadWriter and does not
/// map the table's entries.
///
/// The table uses open addressing: a key is stored at the index first_index(), or behind it with no free entry in
/// between. At most half of the entries are used, unless the kernel gives no more pages or the table has its largest
/// size.
///
/// A table of 100,000 keys is larger than a processor's caches, and waiting for the entry of a key takes longer than
/// all other work of counting a call. But many programs repeat their calls in the same order. So the table also has
/// the keys in the order of their counters, which is roughly the order in which they first occurred. find() first
/// compares the key with the one that it found last, and then with the next one in this order.
class CountersByKey {
  public:
    static constexpr CountersNumber none = UINT32_MAX;

    /// Returns the counters of a key, or `none` if the key is not in the table. Precondition: key != 0.
    [[gnu::always_inline]] CountersNumber find(std::uint64_t key);
    /// Adds a key that is not in the table. If the table is full, drops all other keys.
    void add(std::uint64_t key, CountersNumber counters);
    std::size_t capacity() const { return entries_ == nullptr ? 0 : mask() + 1; }

    /// Returns the index at which a key's search begins in a table of `1 << bits` entries. The index depends on all
    /// bits of the key. Otherwise keys of evenly spaced sizes would share a few entries, because keys are sums of
    /// multiples of sizes.
    [[gnu::always_inline]] static std::uint64_t first_index(std::uint64_t key, std::uint32_t bits) {
        return system::table_index(system::fold_high_half(key), bits);
    }

    static constexpr std::uint32_t first_bits = 8;     ///< binary logarithm of the first size, 256 entries
    static constexpr std::uint32_t largest_bits = 21;  ///< binary logarithm of the largest size: 2 entries for each
                                                       ///< possible row, which need 48 MiB

  private:
    struct Entry {
        std::uint64_t key;  ///< key of the counters; 0: the entry is free
        CountersNumber counters;
    };

    std::uint64_t mask() const { return (std::uint64_t{1} << log2_capacity_) - 1; }
    void grow();
    void clear();
    Entry& free_entry(std::uint64_t key);
    /// Returns the size of a table in bytes: its entries, followed by the keys in the order of their counters.
    static constexpr std::size_t size_in_bytes(std::size_t capacity) {
        return capacity * sizeof(Entry) + (capacity + 1) * sizeof(std::uint64_t);
    }

    Entry* entries_;
    std::uint64_t* keys_by_number_;  // capacity() + 1 keys, indexed by CountersNumber; 0: no key
    std::uint32_t log2_capacity_;
    std::uint32_t used_;
    CountersNumber last_;  // the number that find() returned last; below capacity()
};

[[gnu::always_inline]] inline CountersNumber CountersByKey::find(std::uint64_t key) {
    if (entries_ == nullptr) [[unlikely]]
        return none;
    const CountersNumber last = last_;
    if (keys_by_number_[last] == key) return last;
    if (keys_by_number_[last + 1] == key) return last_ = last + 1;
    std::uint64_t index = first_index(key, log2_capacity_);
    while (entries_[index].key != key) {
        if (entries_[index].key == 0) return none;
        index = (index + 1) & mask();
    }
    const CountersNumber found = entries_[index].counters;
    if (found <= mask()) last_ = found;
    return found;
}

}  // namespace fp32shim::record
