// Aligns two sequences by finding entries that correspond to each other. All functions are pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace fp32shim::cli {

/// Says that the entries a, a + 1, … of one sequence correspond to the entries b, b + 1, … of the other sequence.
struct AlignedRun {
    std::size_t a = 0, b = 0, count = 0;

    bool operator==(const AlignedRun&) const = default;
};

/// The largest number of entries of both sequences that one search of align_sequences() leaves out. An alignment that
/// leaves out no more entries is the longest possible; otherwise it may miss some pairs. Entries that the other
/// sequence does not contain are not counted.
inline constexpr std::size_t max_left_out = 1000;
/// The largest number of times that align_sequences() starts a new search after leaving out max_left_out entries.
/// Sequences that need more searches are in different orders, as the tasks of a thread pool may be. The rest of such
/// sequences is not aligned.
inline constexpr std::size_t max_cuts = 40;

/// Returns runs of equal entries, with indices that rise in both sequences and with as few left-out entries as
/// possible (Myers 1986). The time and the memory needed are proportional to the lengths of the sequences. In the
/// worst case, up to max_cuts times the square of max_left_out is added.
std::vector<AlignedRun> align_sequences(std::span<const std::uint64_t> a, std::span<const std::uint64_t> b);

/// The products of one run of a program, in order. Each product has a number for its kind, and a number for its kind
/// and result together.
struct ProductSequence {
    std::span<const std::uint64_t> kinds, results;
};

/// Aligns products of equal kinds. Aligns as many products as align_sequences() can and, if there are several ways,
/// prefers to align equal results. An additional product in one run is then found where it was made, and not after
/// the last product of its kind.
std::vector<AlignedRun> align_products(const ProductSequence& a, const ProductSequence& b);

}  // namespace fp32shim::cli
