// Which keys one thread has met, and the counters of each: a hash table in private pages that grows with them, so
// that the long way is for keys that are new to the thread.
#pragma once

#include <cstddef>
#include <cstdint>

#include "record/recording_format.hpp"

namespace fp32shim::record {

/// Part of a ThreadWriter, and guarded by its is_busy_: whoever finds that set must not come here. All zeros is an
/// empty table; that is what a forked child sees, where the pages of the parent's table are not mapped.
///
/// Open addressing: a key stands at its first place or behind that, with no free place between. At most half
/// of the places are used, unless the kernel gives no more pages or the table has its largest size.
class KnownKeys {
  public:
    /// The counters of a key; nullptr: it is not known. Precondition: key != 0.
    [[gnu::always_inline]] format::CounterRecord* find(std::uint64_t key) const;
    /// Adds a key that find() does not know. Where there is no room for one more, all others are forgotten.
    void add(std::uint64_t key, format::CounterRecord* counters);
    std::size_t capacity() const { return entries_ == nullptr ? 0 : mask() + 1; }

    /// The first place of a key in a table of `1 << bits`. Keys may be sums of multiples of sizes, which programs
    /// step through evenly: no bits of such a key, nor of a multiple of it, would spread them.
    [[gnu::always_inline]] static std::uint64_t first_place(std::uint64_t key, std::uint32_t bits) {
        return (key ^ key >> 32) * 0x9e3779b97f4a7c15U >> (64 - bits);
    }

    static constexpr std::uint32_t first_bits = 8;     ///< a page of 256 entries
    static constexpr std::uint32_t largest_bits = 21;  ///< twice the rows of a file: 32 MiB

  private:
    struct Entry {
        std::uint64_t key;  ///< 0: free
        format::CounterRecord* counters;
    };

    std::uint64_t mask() const { return (std::uint64_t{1} << bits_) - 1; }
    void grow();
    void forget_all();
    Entry& free_place(std::uint64_t key);

    Entry* entries_;
    std::uint32_t bits_;  ///< of a place
    std::uint32_t used_;
};

[[gnu::always_inline]] inline format::CounterRecord* KnownKeys::find(std::uint64_t key) const {
    if (entries_ == nullptr) [[unlikely]]
        return nullptr;
    std::uint64_t place = first_place(key, bits_);
    for (;;) {
        const Entry& entry = entries_[place];
        if (entry.key == key) return entry.counters;
        if (entry.key == 0) return nullptr;
        place = (place + 1) & mask();
    }
}

}  // namespace fp32shim::record
