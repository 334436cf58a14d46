// Remembers the cublasLt algorithms that searches found, the conditions of each search, and the shim's replacements.
#pragma once

#include <array>
#include <cstdint>

#include "policy/algorithm.hpp"

namespace fp32shim::cublas {

/// A cublasLtMatmulAlgo_t. The struct is opaque and has the same size in every version.
using Algorithm64 = std::array<std::uint64_t, 8>;

/// A cublasLtMatmulHeuristicResult_t, which is one result of a search.
struct HeuristicResult {
    Algorithm64 algorithm;
    std::uint64_t workspace_size;
    std::int32_t state;
    float waves_count;
    std::int32_t reserved[4];
};
static_assert(sizeof(HeuristicResult) == 96);

/// The conditions under which a search found an algorithm. The masks and max_waves_count are limits set by the
/// program. The shim's search for a replacement obeys these limits, too.
struct SearchConditions {
    std::uint64_t implementation_mask = ~std::uint64_t{0};
    std::uint32_t reduction_scheme_mask = 0xffffffff;
    float max_waves_count = 0;  ///< the limit on the number of waves; 0: there is no limit
    std::int32_t compute_type = 0;
    std::uint32_t min_alignment = 1;  ///< alignment in bytes that all four matrices need; a power of two

    bool operator==(const SearchConditions&) const = default;
};

/// Remembers how an algorithm was found. If there is no room, an older algorithm is forgotten, and the library has to
/// be asked about that algorithm again. recall_search_conditions() returns false for an algorithm that is not
/// remembered. Thread-safe, lock-free.
void remember_search_conditions(const Algorithm64& algorithm, const SearchConditions& found);
bool recall_search_conditions(const Algorithm64& algorithm, SearchConditions& found);

/// An algorithm that the shim's own search found to replace the program's algorithm.
struct ReplacementAlgorithm {
    std::uint64_t exists = 0;  ///< 1, or 0 if the search found no algorithm; has 64 bits, since the cache that stores
                               ///< this struct consists of 64-bit words
    Algorithm64 algorithm{};
};
void remember_replacement(std::uint64_t key, const ReplacementAlgorithm& replacement);
bool recall_replacement(std::uint64_t key, ReplacementAlgorithm& replacement);

struct Library;

/// An algorithm's configuration, and the word for it in recordings.
struct DescribedAlgorithm {
    policy::Algorithm configuration;
    policy::AlgorithmText word;
};
/// Returns what the library tells about an algorithm. The library is asked once, as long as there is room to remember
/// its answer. Thread-safe, lock-free.
DescribedAlgorithm describe_algorithm(const Library& library, const Algorithm64& algorithm);

/// Returns `limits` without those that have no effect in this library: `avoids_known_wrong` becomes false if this
/// version of the library has no algorithm that is known to give wrong results.
policy::AlgorithmLimits effective_limits(const Library& library, policy::AlgorithmLimits limits);

/// Returns true if the algorithm is within the limits. If there are no limits, the library is not asked.
bool is_within_limits(const policy::AlgorithmLimits& limits, const Library& library, const Algorithm64& algorithm);

}  // namespace fp32shim::cublas
