// 64-bit hashes that serve as keys of tables and of entries in the project's files. They are not cryptographic: an
// attacker can construct two inputs with the same hash.
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>

namespace fp32shim::system {

/// 2^64 divided by the golden ratio. Multiplying evenly spaced numbers by it spreads them evenly over 64 bits.
inline constexpr std::uint64_t golden_ratio = 0x9e3779b97f4a7c15;

/// Returns the index of a key in a table of `1 << bits` entries (Fibonacci hashing). The key's high bits have little
/// influence on the index; fold_high_half() gives them more.
constexpr std::uint64_t table_index(std::uint64_t key, unsigned bits) { return key * golden_ratio >> (64 - bits); }

/// Returns the key with its high half mixed into its low half, for table_index().
constexpr std::uint64_t fold_high_half(std::uint64_t key) { return key ^ key >> 32; }

/// Returns a pseudo-random number that is a hash of `state` (splitmix64). For a sequence of numbers, pass successive
/// multiples of an odd number.
constexpr std::uint64_t splitmix64(std::uint64_t state) {
    state = (state ^ state >> 30) * 0xbf58476d1ce4e5b9;
    state = (state ^ state >> 27) * 0x94d049bb133111eb;
    return state ^ state >> 31;
}

/// Hashes words and texts in the order in which they are added. Among a million hashes, the chance that two are equal
/// is one in 30 million. Adding a word takes a few cycles. Not thread-safe.
class Hash {
  public:
    Hash& add(std::uint64_t word) {
        __extension__ using Wide = unsigned __int128;
        const Wide product = static_cast<Wide>(state_ ^ word) * golden_ratio;
        state_ =
            (static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64)) + 0x2545f4914f6cdd1dU;
        return *this;
    }
    Hash& add(const void* address) { return add(reinterpret_cast<std::uint64_t>(address)); }
    Hash& add(std::string_view text) {
        add(text.size());
        for (; text.size() >= sizeof(std::uint64_t); text.remove_prefix(sizeof(std::uint64_t)))
            add(word_of(text.substr(0, sizeof(std::uint64_t))));
        return add(word_of(text));
    }
    template <class Words>
    Hash& add_all(const Words& words) {
        for (const std::uint64_t word : words) add(word);
        return *this;
    }
    /// Returns the hash, which is never 0.
    std::uint64_t value() const { return state_ == 0 ? 1 : state_; }

  private:
    static std::uint64_t word_of(std::string_view text) {
        std::uint64_t word = 0;
        std::memcpy(&word, text.data(), text.size());
        return word;
    }

    std::uint64_t state_ = 0xa0761d6478bd642fU;
};

}  // namespace fp32shim::system
