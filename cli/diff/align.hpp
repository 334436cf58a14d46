// Aligns two sequences by finding entries that correspond to each other. Pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace fp32shim::cli {

/// Entries a, a + 1, … of one sequence that correspond to entries b, b + 1, … of the other.
struct AlignedRun {
    std::size_t a = 0, b = 0, count = 0;

    bool operator==(const AlignedRun&) const = default;
};

/// Maximum number of entries, of both sequences together, that align() leaves out between two runs with a guaranteed
/// optimum. Beyond it, an alignment may miss some pairs. Entries that the other sequence lacks do not count.
inline constexpr std::size_t max_left_out = 1000;
/// Maximum number of times that align() goes on after it has left out so many. Sequences that need more are in
/// another order, as the tasks of a pool of threads are. Their rest is not aligned.
inline constexpr std::size_t max_cuts = 40;

/// Returns runs of equal entries, with indices rising on both sides and as few left-out entries as possible (Myers
/// 1986). Time and memory are proportional to the lengths. In the worst case, max_cuts times the square of
/// max_left_out is added.
std::vector<AlignedRun> align_sequences(std::span<const std::uint64_t> a, std::span<const std::uint64_t> b);

/// Products of one run, in their order. Each has a number for its kind, and a number for kind and result.
struct ProductSequence {
    std::span<const std::uint64_t> kinds, results;
};

/// Aligns products of equal kinds. Aligns as many as align() can and, if there are several ways, prefers equal
/// results. An additional product in one run is then found at its place, and not after others of its kind.
std::vector<AlignedRun> align_products(const ProductSequence& a, const ProductSequence& b);

}  // namespace fp32shim::cli
