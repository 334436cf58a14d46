// Which algorithms of cublasLt the shim has seen found, and for what; and what it found in their place.
#pragma once

#include <array>
#include <cstdint>

namespace fp32shim::cublas {

/// cublasLtMatmulAlgo_t: opaque, the same size in every version.
using Algorithm64 = std::array<std::uint64_t, 8>;

/// cublasLtMatmulHeuristicResult_t.
struct HeuristicResult {
    Algorithm64 algorithm;
    std::uint64_t workspace_size;
    std::int32_t state;
    float waves_count;
    std::int32_t reserved[4];
};
static_assert(sizeof(HeuristicResult) == 96);

/// An algorithm as a search found it. Masks and waves are what the program's search allowed, which a search in its
/// place must keep to.
struct FoundAlgorithm {
    std::uint64_t implementation_mask = ~std::uint64_t{0};
    std::uint32_t reduction_scheme_mask = 0xffffffff;
    float max_waves_count = 0;  ///< 0: any
    std::int32_t compute_type = 0;
    std::uint32_t min_alignment = 1;  ///< of all four matrices, in bytes; a power of two
};

/// Thread-safe, lock-free. What is not kept for lack of room is found anew: nothing depends on it.
void remember_algorithm(const Algorithm64& algorithm, const FoundAlgorithm& found);
bool recall_algorithm(const Algorithm64& algorithm, FoundAlgorithm& found);

/// The answer to a search of ours.
struct Replacement {
    bool exists = false;  ///< false: the search found none
    Algorithm64 algorithm{};
};
void remember_replacement(std::uint64_t key, const Replacement& replacement);
bool recall_replacement(std::uint64_t key, Replacement& replacement);

}  // namespace fp32shim::cublas
