#include "shim/cublas/lt_algorithms.hpp"

#include <algorithm>
#include <atomic>
#include <type_traits>

#include "shim/cublas/lt_arguments.hpp"
#include "system/hash.hpp"

namespace fp32shim::cublas {
namespace {

/// A cache of fixed size that holds values by key. A new value may replace an older value. Readers see only complete
/// values, since `version` is odd while a value is being written.
template <class Value, std::size_t size>
class LockFreeCache {
    static_assert(std::is_trivially_copyable_v<Value> && sizeof(Value) % sizeof(std::uint64_t) == 0);
    static constexpr std::size_t words = sizeof(Value) / sizeof(std::uint64_t);
    using Words = std::array<std::uint64_t, words>;

  public:
    void put(std::uint64_t key, const Value& value) {
        CachedValue& entry = entries_[key % size];
        std::uint32_t version = entry.version.load(std::memory_order_relaxed);
        if (version % 2 == 1 || !entry.version.compare_exchange_strong(version, version + 1)) return;
        std::atomic_thread_fence(std::memory_order_release);
        entry.key.store(key, std::memory_order_relaxed);
        const auto copy = __builtin_bit_cast(Words, value);
        for (std::size_t i = 0; i < words; ++i) entry.value[i].store(copy[i], std::memory_order_relaxed);
        entry.version.store(version + 2, std::memory_order_release);
    }

    bool get(std::uint64_t key, Value& value) const {
        const CachedValue& entry = entries_[key % size];
        const std::uint32_t version = entry.version.load(std::memory_order_acquire);
        if (version % 2 == 1 || entry.key.load(std::memory_order_relaxed) != key) return false;
        Words copy{};
        for (std::size_t i = 0; i < words; ++i) copy[i] = entry.value[i].load(std::memory_order_relaxed);
        std::atomic_thread_fence(std::memory_order_acquire);
        if (entry.version.load(std::memory_order_relaxed) != version) return false;
        value = __builtin_bit_cast(Value, copy);
        return true;
    }

  private:
    struct CachedValue {
        std::atomic<std::uint32_t> version;
        std::atomic<std::uint64_t> key;  ///< 0: the entry was never used
        std::atomic<std::uint64_t> value[words];
    };
    CachedValue entries_[size]{};
};

constinit LockFreeCache<SearchConditions, 2048> search_conditions;
constinit LockFreeCache<ReplacementAlgorithm, 512> replacements;
constinit LockFreeCache<DescribedAlgorithm, 512> described_algorithms;

std::uint64_t key_of(const Algorithm64& algorithm) {
    system::Hash hash;
    hash.add_all(algorithm);
    return hash.value();
}

DescribedAlgorithm ask_about(const Library& library, const Algorithm64& algorithm) {
    DescribedAlgorithm known;
    for (const policy::AlgorithmAttribute& part : policy::algorithm_attributes) {
        std::uint32_t value = 0;  // an attribute of two bytes fills the lower half of `value`
        std::size_t written = 0;
        const bool is_told = library.algo_configuration.call_keeping_errno(algorithm.data(), part.attribute, &value,
                                                                           part.bytes, &written) == status_success;
        if (is_told) known.configuration.*part.value = value;
        if (!is_told && part.letter == 0) return known;  // letter 0 is the id, which every valid algorithm has
    }
    known.word = policy::format_algorithm(known.configuration);
    return known;
}

}  // namespace

DescribedAlgorithm describe_algorithm(const Library& library, const Algorithm64& algorithm) {
    DescribedAlgorithm known;
    const std::uint64_t key = key_of(algorithm) ^ reinterpret_cast<std::uintptr_t>(&library);
    if (library.algo_configuration == nullptr || described_algorithms.get(key, known)) return known;
    known = ask_about(library, algorithm);
    described_algorithms.put(key, known);
    return known;
}

policy::AlgorithmLimits effective_limits(const Library& library, policy::AlgorithmLimits limits) {
    const auto concerns_it = [&](const policy::KnownWrongAlgorithm& row) { return row.concerns(library.version); };
    limits.avoids_known_wrong =
        limits.avoids_known_wrong && std::ranges::any_of(policy::known_wrong_algorithms, concerns_it);
    return limits;
}

bool is_within_limits(const policy::AlgorithmLimits& limits, const Library& library, const Algorithm64& algorithm) {
    if (!limits.any()) return true;
    const auto& [configuration, word] = describe_algorithm(library, algorithm);
    return word.size > 0 &&  // the size is 0 if the library does not tell the configuration
           (configuration.reduction & ~limits.allowed_reduction_schemes()) == 0 &&
           (!limits.no_split_k || configuration.split_k <= 1) &&
           !(limits.avoids_known_wrong &&
             policy::find_known_wrong_algorithm(configuration, library.version) != nullptr);
}

void remember_search_conditions(const Algorithm64& algorithm, const SearchConditions& found) {
    search_conditions.put(key_of(algorithm), found);
}

bool recall_search_conditions(const Algorithm64& algorithm, SearchConditions& found) {
    return search_conditions.get(key_of(algorithm), found);
}

void remember_replacement(std::uint64_t key, const ReplacementAlgorithm& replacement) {
    replacements.put(key, replacement);
}

bool recall_replacement(std::uint64_t key, ReplacementAlgorithm& replacement) {
    return replacements.get(key, replacement);
}

}  // namespace fp32shim::cublas
