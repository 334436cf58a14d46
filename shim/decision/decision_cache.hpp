// Keeps the decisions of one thread that depend on sizes or locations. The key of a kept decision holds every input
// that can change, so deciding again would give the same result.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "policy/decide.hpp"
#include "system/hash.hpp"
#include "system/reentrancy.hpp"

namespace fp32shim {

/// The inputs of a decision that does not depend on scopes. Inputs that are the same for all calls of a call site are
/// left out. Inputs whose changes also change `generation` or `change_count` are left out as well.
struct DecisionKey {
    std::uint64_t site;  ///< Site::number; 0 if the entry is free
    std::int64_t m, n, k, batch;
    std::int32_t compute_capability;
    policy::Dtype dtype;
    std::uint32_t generation;    ///< Settings::generation
    std::uint32_t change_count;  ///< settings_change_count()
    std::uint64_t location = 0;  ///< where::location_key(); 0 if no rule depends on the location

    bool operator==(const DecisionKey&) const = default;
};

/// The kept decisions of one thread. Signal handlers on this thread use the object too: a handler that interrupts
/// find() or store() finds nothing and stores nothing. An object in zeroed memory is empty.
class DecisionCache {
  public:
    std::optional<policy::Decision> find(const DecisionKey& key) {
        const system::ReentrancyGuard use(in_use_);
        if (!use) return std::nullopt;
        for (const CachedDecision& entry : set_of(key))
            if (entry.key == key) return entry.decision;
        return std::nullopt;
    }
    /// Stores a decision. If no entry is free, replaces an older decision.
    void store(const DecisionKey& key, const policy::Decision& decision) {
        const system::ReentrancyGuard use(in_use_);
        if (!use) return;
        Set& set = set_of(key);
        for (CachedDecision& entry : set) {
            if (entry.key.site != 0 && is_current(entry.key, key)) continue;
            entry = {key, decision};
            return;
        }
        set[next_victim_++ % ways] = {key, decision};
    }

  private:
    static constexpr std::size_t ways = 4;
    static constexpr unsigned set_bits = 10;
    struct CachedDecision {
        DecisionKey key;
        policy::Decision decision;
    };
    using Set = std::array<CachedDecision, ways>;

    static bool is_current(const DecisionKey& kept, const DecisionKey& now) {
        return kept.generation == now.generation && kept.change_count == now.change_count;
    }
    Set& set_of(const DecisionKey& key) {
        const auto part = [](std::int64_t word, std::uint64_t random) {
            return static_cast<std::uint64_t>(word) * random;
        };
        const std::uint64_t sum = key.site * 0x62bba1b9f2757641 + part(key.m, 0x7a6f56d50c7a670d) +
                                  part(key.n, 0xbc6aa802aafcc4e7) + part(key.k, 0x6a4a7def0860909f) +
                                  part(key.batch, 0x66d6a2999d170b6b) + key.location;
        // Evenly spaced sizes give evenly spaced sums. The multiplication in table_index() spreads such sums over the
        // sets.
        return sets_[system::table_index(system::fold_high_half(sum), set_bits)];
    }

    system::ReentrancyFlag in_use_;
    unsigned next_victim_;
    std::array<Set, std::size_t{1} << set_bits> sets_;
};

}  // namespace fp32shim
