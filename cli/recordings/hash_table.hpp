// A small hash table for the data of which recordings have millions: decisions, texts, levels of call paths,
// durations.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace fp32shim::cli {

/// A hash table with open addressing. At least half of its entries are free. An entry is a few bytes, such as a key
/// or an index into another array. A free entry is one that converts to false. A stored entry takes two to four times
/// its size; a node of std::unordered_set takes some 50 bytes.
template <class Entry>
class HashTable {
  public:
    /// Returns the stored entry with this hash for which `is_like` is true, with `false`. If there is none, returns a
    /// free entry with `true`; the caller must then fill it. `hash_of` returns the hash of a stored entry.
    template <class IsLike, class HashOf>
    std::pair<Entry&, bool> find_or_add(std::uint64_t hash, const IsLike& is_like, const HashOf& hash_of) {
        if (2 * used_ >= entries_.size()) enlarge(hash_of);
        Entry& entry = entries_[index_of(hash, is_like)];
        const bool is_new = !entry;
        if (is_new) ++used_;
        return {entry, is_new};
    }
    /// Returns the entry with this hash for which `is_like` is true; null if there is none.
    template <class IsLike>
    const Entry* find(std::uint64_t hash, const IsLike& is_like) const {
        if (entries_.empty()) return nullptr;
        const Entry& entry = entries_[index_of(hash, is_like)];
        return entry ? &entry : nullptr;
    }
    bool empty() const { return used_ == 0; }
    /// Returns all entries in no particular order, including free ones.
    std::span<const Entry> entries() const { return entries_; }

  private:
    template <class IsLike>
    std::size_t index_of(std::uint64_t hash, const IsLike& is_like) const {
        const std::size_t mask = entries_.size() - 1;
        std::size_t index = hash & mask;
        while (entries_[index] && !is_like(entries_[index])) index = (index + 1) & mask;
        return index;
    }
    template <class HashOf>
    void enlarge(const HashOf& hash_of) {
        const std::size_t size = entries_.empty() ? 256 : 2 * entries_.size();
        const auto is_other = [](const Entry&) { return false; };
        for (const Entry& entry : std::exchange(entries_, std::vector<Entry>(size)))
            if (entry) entries_[index_of(hash_of(entry), is_other)] = entry;
    }

    std::vector<Entry> entries_;  ///< size is a power of two
    std::size_t used_ = 0;
};

}  // namespace fp32shim::cli
